import { describe, expect, test } from "bun:test";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { binaries } from "../support/cluster/binaries.ts";
import { CommandError, run } from "../support/cluster/command.ts";
import { waitFor } from "../support/cluster/index.ts";
import { executable } from "../support/tunnel-compiled.ts";
import { base64, type Content, kubeconfig, openRig } from "./kubeconfig-rig.ts";

type Rig = Awaited<ReturnType<typeof openRig>>;
/** The files of one case by name, the variable KUBECONFIG (relative names), and what the server hears. */
interface Case {
  files: (rig: Rig) => Record<string, string>;
  variable: string;
  heard: string;
  /** More of the environment. */
  env?: (rig: Rig) => Record<string, string>;
}

const one = (content: (rig: Rig) => Content, heard: string): Case => ({
  files: (rig) => ({
    config: kubeconfig({ server: rig.url("one"), ...content(rig) }),
    token: "from-file\n",
    "program.sh": program,
  }),
  variable: "config",
  heard,
});
/** A proxy in HTTPS_PROXY, a server by this name. */
const inEnvironment = (
  { server = "kubernetes.invalid", ...env }: { server?: string; NO_PROXY?: string },
  heard: string,
): Case => ({
  ...one(
    (rig) => ({
      server: rig.url("one").replace("127.0.0.1", server),
      user: { token: "t" },
      cluster: { "tls-server-name": "127.0.0.1" },
    }),
    heard,
  ),
  env: (rig) => ({ HTTPS_PROXY: rig.proxy, ...env }),
});
/** Says what it was told of the cluster. */
const clusterProgram = `#!/bin/sh
for word in '"server":"https' certificate-authority-data '"audience":"them"'; do
  case "$KUBERNETES_EXEC_INFO" in *"$word"*) ;; *) echo "without $word" >&2; exit 1 ;; esac
done
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"told-server-authority-audience"}}'
`;
const program = `#!/bin/sh
case "$KUBERNETES_EXEC_INFO" in *ExecCredential*) told=told ;; esac
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"'"$told-$EXTRA"'"}}'
`;
const exec = (command: string) => ({
  apiVersion: "client.authentication.k8s.io/v1",
  command,
  env: [{ name: "EXTRA", value: "extra" }],
  interactiveMode: "Never",
});

const cases: Record<string, Case> = {
  "a token": one(() => ({ user: { token: "inline" } }), "one Bearer inline"),
  "a token file, beside the kubeconfig": one(() => ({ user: { tokenFile: "token" } }), "one Bearer from-file"),
  "a token and a token file": one(() => ({ user: { token: "inline", tokenFile: "token" } }), "one Bearer from-file"),
  "a name with a password": one(() => ({ user: { username: "me", password: "p" } }), `one Basic ${base64("me:p")}`),
  "a program beside the kubeconfig": one(() => ({ user: { exec: exec("./program.sh") } }), "one Bearer told-extra"),
  "a context without a user": one((rig) => ({ server: rig.url("plain"), userName: null }), "plain"),
  "another user's name": one(() => ({ user: { token: "inline", as: "alice" } }), "one Bearer inline alice"),
  "another user's name with groups": one(
    () => ({ user: { token: "inline", as: "alice", "as-groups": ["a"], "as-uid": "7" } }),
    "one Bearer inline alice 7 a",
  ),
  "a server behind a path": one(
    (rig) => ({ server: `${rig.url("one")}/prefix/`, user: { token: "t" } }),
    "one/prefix Bearer t",
  ),
  "an entry of another cluster that is broken": one(
    () => ({ user: { token: "t" }, rest: { users: [{ name: "a", user: { token: "t" } }, { name: "b" }] } }),
    "one Bearer t",
  ),
  "a proxy": one(
    (rig) => ({
      server: rig.url("one").replace("127.0.0.1", "kubernetes.invalid"),
      user: { token: "inline" },
      cluster: { "proxy-url": rig.proxy, "tls-server-name": "127.0.0.1" },
    }),
    "through the proxy: one Bearer inline",
  ),
  "a proxy of the environment": inEnvironment({}, "through the proxy: one Bearer t"),
  "one that NO_PROXY excepts by a range of addresses": inEnvironment(
    { NO_PROXY: "10.0.0.0/8,127.0.0.0/8", server: "127.0.0.1" },
    "one Bearer t",
  ),
  "one that NO_PROXY excepts by a domain": inEnvironment(
    { NO_PROXY: ".invalid", server: "localhost.invalid" },
    "nothing",
  ),
  "one that NO_PROXY does not except": inEnvironment(
    { NO_PROXY: "10.0.0.0/8,other.invalid" },
    "through the proxy: one Bearer t",
  ),
  "no proxy for this very machine": inEnvironment({ server: "127.0.0.1" }, "one Bearer t"),
  "a proxy of the kubeconfig, whatever NO_PROXY says": {
    ...one(
      (rig) => ({
        server: rig.url("one").replace("127.0.0.1", "kubernetes.invalid"),
        user: { token: "t" },
        cluster: { "proxy-url": rig.proxy, "tls-server-name": "127.0.0.1" },
      }),
      "through the proxy: one Bearer t",
    ),
    env: () => ({ NO_PROXY: "*" }),
  },
  "a program that wants to know the cluster": one(
    (rig) => ({
      user: { exec: { ...exec("./cluster.sh"), provideClusterInfo: true } },
      cluster: {
        server: rig.url("one"),
        extensions: [{ name: "client.authentication.k8s.io/exec", extension: { audience: "them" } }],
      },
    }),
    "one Bearer told-server-authority-audience",
  ),
  "no user by an empty name": one((rig) => ({ server: rig.url("plain"), userName: "" }), "plain"),
  "a user of whom nothing is said": one(
    (rig) => ({ server: rig.url("plain"), rest: { users: [{ name: "a", user: null }] } }),
    "plain",
  ),
  "a user who is only a name": one((rig) => ({ server: rig.url("plain"), rest: { users: [{ name: "a" }] } }), "plain"),
  "entries that are null": one(
    (rig) => ({ server: rig.url("plain"), userName: null, rest: { users: [null], extensions: null } }),
    "plain",
  ),
  "lists that are null": one((rig) => ({ server: rig.url("plain"), userName: null, rest: { users: null } }), "plain"),
  "fields that are null": one(
    () => ({
      user: { token: "t", username: null, tokenFile: null, as: null, exec: null, "client-key-data": null },
      cluster: { "tls-server-name": null, "proxy-url": null, "insecure-skip-tls-verify": null, extensions: null },
    }),
    "one Bearer t",
  ),
  "an empty file before one that is not": {
    files: (rig) => ({ empty: "", second: kubeconfig({ server: rig.url("two"), user: { token: "2" } }) }),
    variable: "empty:second",
    heard: "two Bearer 2",
  },
  "a server without TLS, which gets no secret": one(
    (rig) => ({ server: rig.url("plain"), user: { token: "inline", as: "alice" } }),
    "plain alice",
  ),
  "two files, of which the first has the context": {
    files: (rig) => ({
      first: kubeconfig({ server: rig.url("one"), user: { token: "1" } }),
      second: kubeconfig({ context: "b", server: rig.url("two"), user: { token: "2" } }),
    }),
    variable: "first:second",
    heard: "one Bearer 1",
  },
  "two files with the same names": {
    files: (rig) => ({
      first: kubeconfig({ server: rig.url("one"), user: { token: "1" } }),
      second: kubeconfig({ server: rig.url("two"), user: { token: "2" } }),
    }),
    variable: "first:second",
    heard: "one Bearer 1",
  },
  "a file that is absent before one that is there": {
    files: (rig) => ({ second: kubeconfig({ server: rig.url("two"), user: { token: "2" } }) }),
    variable: "absent:second",
    heard: "two Bearer 2",
  },
  "the file in the home folder": {
    files: (rig) => ({
      ".kube/config": kubeconfig({
        server: rig.url("one"),
        user: { tokenFile: "../token" },
        cluster: { "certificate-authority": "../pki/ca.crt" },
      }),
      token: "t",
    }),
    variable: "",
    heard: "one Bearer t",
  },
};

test("an operator takes the first of several kubeconfigs that knows the context too", async () => {
  await using rig = await openRig();
  const [first, second] = ["first", "second"].map((name) => join(rig.folder, name));
  await Bun.write(`${first}`, "");
  await Bun.write(`${second}`, kubeconfig({ server: rig.url("two"), user: { token: "2" } }));
  const operator = Bun.spawn([executable(), "operator", "--health-listen", "127.0.0.1:0"], {
    env: { ...process.env, KUBECONFIG: [`${rig.folder}/absent`, first, second].join(":") },
    stdout: "ignore",
    stderr: "ignore",
  });
  try {
    await waitFor("the operator asks", { deadline: 30_000 }, async () => rig.heard.includes("two Bearer 2"));
  } finally {
    operator.kill("SIGKILL");
    await operator.exited;
  }
}, 60_000);

test("a certificate for another name is told in words, with what to do", async () => {
  await using rig = await openRig();
  const config = kubeconfig({ server: rig.url("one").replace("127.0.0.1", "localhost"), user: { token: "t" } });
  await Bun.write(join(rig.folder, "config"), config);
  const asked = run([executable(), "status", "-A"], { env: { KUBECONFIG: join(rig.folder, "config") } });
  const error = await asked.catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(CommandError);
  expect((error as CommandError).stderr + (error as CommandError).stdout).toContain(
    "is not trusted: its certificate is for other names; use one of them as the server, or name it as tls-server-name in the kubeconfig",
  );
}, 30_000);

describe("a kubeconfig means to doctor and status what it means to kubectl:", () => {
  for (const [name, { files, variable, heard, env: more }] of Object.entries(cases)) {
    test(name, async () => {
      await using rig = await openRig();
      for (const [file, text] of Object.entries(files(rig))) {
        await Bun.write(join(rig.folder, file), text);
      }
      for (const [file, text] of [
        ["program.sh", program],
        ["cluster.sh", clusterProgram],
      ] as const) {
        await writeFile(join(rig.folder, file), text);
        await chmod(join(rig.folder, file), 0o755);
      }
      const paths = variable.split(":").map((path) => (path === "" ? "" : join(rig.folder, path)));
      const env = { KUBECONFIG: paths.join(":"), ...more?.(rig) };
      const { kube } = await binaries();
      const kubectl = await rig.asks([kube, "kubectl", "get", "--raw", "/api/v1/pods"], env);
      const status = await rig.asks([executable(), "status", "-A"], env);
      expect({ kubectl, status }).toEqual({ kubectl: heard, status: heard });
    }, 60_000);
  }
});
