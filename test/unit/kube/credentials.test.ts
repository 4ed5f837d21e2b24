import { describe, expect, test } from "bun:test";
import { mkdtempDisposable, rename, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { errorText } from "../../../src/errors.ts";
import { inClusterCredentials } from "../../../src/kube/credentials.ts";
import { CredentialsError } from "../../../src/kube/errors.ts";
import { kubeconfigCredentials } from "../../../src/kube/kubeconfig.ts";

async function folderWith(files: Record<string, string>) {
  const folder = await mkdtempDisposable(join(tmpdir(), "netaminity-credentials-"));
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(folder.path, name), content);
  }
  return folder;
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

function makeKubeconfig({
  cluster = {},
  user = {},
  rest = {},
}: {
  cluster?: object;
  user?: object;
  rest?: object;
}): string {
  return stringify({
    "current-context": "here",
    contexts: [{ name: "here", context: { cluster: "c", user: "u", namespace: "demo" } }],
    clusters: [{ name: "c", cluster: { server: "https://10.0.0.1:6443/", ...cluster } }],
    users: [{ name: "u", user }],
    ...rest,
  });
}

function refusal(open: () => unknown): string {
  try {
    open();
  } catch (error) {
    expect(error).toBeInstanceOf(CredentialsError);
    return errorText(error);
  }
  throw new Error("was accepted");
}

test("inline and file certificates are read, paths relative to the kubeconfig", async () => {
  await using folder = await folderWith({
    config: makeKubeconfig({
      cluster: { "certificate-authority": "ca.crt", "tls-server-name": "kubernetes" },
      user: { "client-certificate-data": base64("cert"), "client-key": "client.key" },
    }),
    "ca.crt": "authority\n",
    "client.key": "key",
  });
  const credentials = kubeconfigCredentials(join(folder.path, "config"));
  expect([credentials.server, credentials.namespace, credentials.authorization()]).toEqual([
    "https://10.0.0.1:6443",
    "demo",
    undefined,
  ]);
  expect(credentials.tls()).toEqual({
    ca: "authority",
    cert: "cert",
    key: "key",
    serverName: "kubernetes",
    rejectUnauthorized: true,
  });
});

test("a token, a token file and a password each make their header", async () => {
  const header = async (user: object) => {
    await using folder = await folderWith({ config: makeKubeconfig({ user }), token: "from-file\n" });
    return kubeconfigCredentials(join(folder.path, "config")).authorization();
  };
  expect(await header({ token: "inline" })).toBe("Bearer inline");
  expect(await header({ tokenFile: "token" })).toBe("Bearer from-file");
  expect(await header({ username: "me", password: "pass" })).toBe(`Basic ${base64("me:pass")}`);
});

test("a rotated token is used once the old one was not accepted", async () => {
  await using folder = await folderWith({ config: makeKubeconfig({ user: { tokenFile: "token" } }), token: "first" });
  const credentials = kubeconfigCredentials(join(folder.path, "config"));
  expect(credentials.authorization()).toBe("Bearer first");
  await writeFile(join(folder.path, "next"), "second");
  await rename(join(folder.path, "next"), join(folder.path, "token"));
  credentials.expire();
  expect(credentials.authorization()).toBe("Bearer second");
});

test("a token file that vanishes for a moment leaves the last token in use", async () => {
  await using folder = await folderWith({ config: makeKubeconfig({ user: { tokenFile: "token" } }), token: "first" });
  const credentials = kubeconfigCredentials(join(folder.path, "config"));
  expect(credentials.authorization()).toBe("Bearer first");
  await rename(join(folder.path, "token"), join(folder.path, "gone"));
  credentials.expire();
  expect(credentials.authorization()).toBe("Bearer first");
});

describe("what cannot work is refused with the field", () => {
  const cases: Record<string, [config: string, message: string]> = {
    exec: [
      makeKubeconfig({ user: { exec: { command: "aws" } } }),
      'the user of the current context has "exec", which is not run here',
    ],
    "an auth provider": [
      makeKubeconfig({ user: { "auth-provider": {} } }),
      'has "auth-provider", which is not run here',
    ],
    "a context that is missing": [
      makeKubeconfig({ rest: { "current-context": "there" } }),
      'there is no context named "there"',
    ],
    "no current context": [makeKubeconfig({ rest: { "current-context": "" } }), "current-context: must name a context"],
    "a server that is no URL": [
      makeKubeconfig({ cluster: { server: "10.0.0.1" } }),
      "clusters.0.cluster.server: must be a URL",
    ],
    "a proxy of another kind": [
      makeKubeconfig({ cluster: { "proxy-url": "socks5://10.0.0.2" } }),
      "clusters.0.cluster.proxy-url: must be http://HOST:PORT or https://HOST:PORT; others are not supported",
    ],
    "more than one group to act as": [
      makeKubeconfig({ user: { as: "me", "as-groups": ["a", "b"] } }),
      "users.0.user.as-groups: several groups are not supported",
    ],
    "a file that is no kubeconfig": ["hello", "file: "],
  };
  for (const [name, [config, message]] of Object.entries(cases)) {
    test(name, async () => {
      await using folder = await folderWith({ config });
      expect(refusal(() => kubeconfigCredentials(join(folder.path, "config")))).toContain(message);
    });
  }

  test("a file that is absent", () => {
    expect(refusal(() => kubeconfigCredentials("/nonexistent/config"))).toStartWith(
      "cannot read the kubeconfig /nonexistent/config",
    );
  });
});

test("a pod uses its mounted token, CA and namespace", async () => {
  await using folder = await folderWith({ token: "t1", "ca.crt": "authority", namespace: "system" });
  const environment = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
  const credentials = inClusterCredentials(folder.path, environment);
  expect([credentials.server, credentials.namespace, credentials.authorization(), credentials.tls()]).toEqual([
    "https://[fd00::1]:443",
    "system",
    "Bearer t1",
    { ca: "authority", rejectUnauthorized: true },
  ]);
});

test("outside of a pod it says what to give", () => {
  expect(refusal(() => inClusterCredentials("/nonexistent", {}))).toBe(
    "not inside a pod (KUBERNETES_SERVICE_HOST is not set): give the path of a kubeconfig with --kubeconfig",
  );
  expect(refusal(() => inClusterCredentials("/nonexistent", { KUBERNETES_SERVICE_HOST: "10.0.0.1" }))).toStartWith(
    "cannot read /nonexistent/token",
  );
});
