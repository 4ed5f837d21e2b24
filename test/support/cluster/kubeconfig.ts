/** Kubeconfig files. JSON is YAML, so no writer is needed. */
import { writeFile } from "node:fs/promises";
import type { Certificate } from "./certificates.ts";

export interface KubeconfigOptions {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  readonly user: { readonly token: string } | { readonly tokenFile: string } | Certificate;
  /** Default `default`. */
  readonly namespace?: string;
  readonly contextName?: string;
}

export async function writeKubeconfig(file: string, options: KubeconfigOptions): Promise<string> {
  const name = options.contextName ?? "cluster";
  const content = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": name,
    contexts: [{ name, context: { cluster: name, user: name, namespace: options.namespace ?? "default" } }],
    clusters: [{ name, cluster: { server: options.url, "certificate-authority-data": btoa(options.ca) } }],
    users: [{ name, user: userOf(options.user) }],
  };
  await writeFile(file, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  return file;
}

function userOf(user: KubeconfigOptions["user"]): Record<string, string> {
  if ("token" in user || "tokenFile" in user) return { ...user };
  return { "client-certificate-data": btoa(user.certificate), "client-key-data": btoa(user.key) };
}
