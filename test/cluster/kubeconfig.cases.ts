import { describe, expect, test } from "bun:test";
import { chmod, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { binaries } from "../support/cluster/binaries.ts";
import { createCertificateAuthority, issueCertificate } from "../support/cluster/certificates.ts";
import { CommandError, run } from "../support/cluster/command.ts";
import { startHttpProxy } from "../support/http-proxy.ts";
import { executable } from "../support/tunnel-compiled.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Two servers that only write down who asked, in a folder for the kubeconfigs that lead to them. */
async function openRig() {
  const folder = await mkdtempDisposable(join(tmpdir(), "netaminity-kubeconfig-"));
  const heard: string[] = [];
  const authority = await createCertificateAuthority(join(folder.path, "pki"));
  const { certificate, key } = await issueCertificate(authority, "server", {
    commonName: "kubernetes",
    names: ["IP:127.0.0.1"],
  });
  const listen = (name: string, tls?: { cert: string; key: string }) =>
    Bun.serve({
      ...(tls === undefined ? {} : { tls }),
      port: 0,
      hostname: "127.0.0.1",
      fetch({ headers, url }) {
        const path = new URL(url).pathname;
        const prefix = path.startsWith("/prefix/") ? "/prefix" : "";
        const who = ["authorization", "impersonate-user", "impersonate-uid", "impersonate-group"].flatMap(
          (header) => headers.get(header) ?? [],
        );
        heard.push([name + prefix, ...who].join(" "));
        return Response.json({ items: [] });
      },
    });
  const tls = { cert: certificate, key };
  const servers = { one: listen("one", tls), two: listen("two", tls), plain: listen("plain") };
  const proxy = await startHttpProxy({ names: { "kubernetes.invalid": "127.0.0.1" } });
  return {
    folder: folder.path,
    url: (name: keyof typeof servers) => `http${name === "plain" ? "" : "s"}://127.0.0.1:${servers[name].port}`,
    proxy: `http://127.0.0.1:${proxy.port}`,
    /** What the servers hear of a command: the first request counts; of one that fails, its last line. */
    async asks(command: string[], env: Record<string, string>): Promise<string> {
      heard.length = 0;
      try {
        await run(command, { env: { HOME: folder.path, KUBECONFIG: "", ...env } });
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
      }
      return heard[0] ?? "nothing";
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(Object.values(servers).map((server) => server.stop(true)));
      await proxy[Symbol.asyncDispose]();
      await folder.remove();
    },
  };
}

interface Content {
  context?: string | null;
  user?: object;
  server?: string;
  cluster?: object;
  /** More of the file. */
  rest?: object;
  /** Instead of the context's own user. */
  userName?: string | null;
}

/** A kubeconfig with one context, cluster and user of the name `context`. */
function kubeconfig({ context = "a", user = {}, server, cluster = {}, rest = {}, userName = context }: Content) {
  const of = userName === null ? {} : { user: userName };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": context,
    contexts: [{ name: context, context: { cluster: context, ...of } }],
    clusters: [{ name: context, cluster: { server, "certificate-authority": "pki/ca.crt", ...cluster } }],
    users: [{ name: context, user }],
    ...rest,
  });
}

type Rig = Awaited<ReturnType<typeof openRig>>;
/** The files of one case by name, the variable KUBECONFIG (relative names), and what the server hears. */
interface Case {
  files: (rig: Rig) => Record<string, string>;
  variable: string;
  heard: string;
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
    "one Bearer inline",
  ),
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

describe("a kubeconfig means to doctor and status what it means to kubectl:", () => {
  for (const [name, { files, variable, heard }] of Object.entries(cases)) {
    test(name, async () => {
      await using rig = await openRig();
      for (const [file, text] of Object.entries(files(rig))) {
        await Bun.write(join(rig.folder, file), text);
      }
      await writeFile(join(rig.folder, "program.sh"), program);
      await chmod(join(rig.folder, "program.sh"), 0o755);
      const paths = variable.split(":").map((path) => (path === "" ? "" : join(rig.folder, path)));
      const env = { KUBECONFIG: paths.join(":") };
      const { kube } = await binaries();
      const kubectl = await rig.asks([kube, "kubectl", "get", "--raw", "/api/v1/pods"], env);
      const status = await rig.asks([executable(), "status", "-A"], env);
      expect({ kubectl, status }).toEqual({ kubectl: heard, status: heard });
    }, 60_000);
  }
});
