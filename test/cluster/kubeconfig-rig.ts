/** Servers that only write down who asked, and kubeconfigs that lead to them. */
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCertificateAuthority, issueCertificate } from "../support/cluster/certificates.ts";
import { CommandError, run } from "../support/cluster/command.ts";
import { startHttpProxy } from "../support/http-proxy.ts";

export const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Two servers that only write down who asked, in a folder for the kubeconfigs that lead to them. */
export async function openRig() {
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
    heard: heard as readonly string[],
    folder: folder.path,
    url: (name: keyof typeof servers) => `http${name === "plain" ? "" : "s"}://127.0.0.1:${servers[name].port}`,
    proxy: `http://127.0.0.1:${proxy.port}`,
    /** What the servers hear of a command: the first request counts; of one that fails, its last line. */
    async asks(command: string[], env: Record<string, string>): Promise<string> {
      heard.length = 0;
      const before = proxy.requests.length;
      try {
        await run(command, { env: { HOME: folder.path, KUBECONFIG: "", ...env } });
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
      }
      return `${proxy.requests.length > before ? "through the proxy: " : ""}${heard[0] ?? "nothing"}`;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(Object.values(servers).map((server) => server.stop(true)));
      await proxy[Symbol.asyncDispose]();
      await folder.remove();
    },
  };
}

export interface Content {
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
export function kubeconfig({ context = "a", user = {}, server, cluster = {}, rest = {}, userName = context }: Content) {
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
