import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { type Credentials, type RereadFile, rereadFile, type Tls } from "./credentials.ts";
import { CredentialsError } from "./errors.ts";

// Own code, since the library's KubeConfig costs 35 MiB of memory, drops `tokenFile` and hands its result to a transport that Bun lacks.

const clusterSchema = z.looseObject({
  server: z.string().regex(/^https?:\/\//, "must be a URL"),
  "certificate-authority": z.string().optional(),
  "certificate-authority-data": z.string().optional(),
  "insecure-skip-tls-verify": z.boolean().optional(),
  "tls-server-name": z.string().optional(),
});
const userSchema = z.looseObject({
  "client-certificate": z.string().optional(),
  "client-certificate-data": z.string().optional(),
  "client-key": z.string().optional(),
  "client-key-data": z.string().optional(),
  token: z.string().optional(),
  tokenFile: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
  exec: z.unknown().optional(),
  "auth-provider": z.unknown().optional(),
});
const contextSchema = z.looseObject({ cluster: z.string(), user: z.string(), namespace: z.string().optional() });
const schema = z.looseObject({
  "current-context": z.string().min(1, "must name a context"),
  contexts: z.array(z.looseObject({ name: z.string(), context: contextSchema })),
  clusters: z.array(z.looseObject({ name: z.string(), cluster: clusterSchema })),
  users: z.array(z.looseObject({ name: z.string(), user: userSchema })),
});
type User = z.output<typeof userSchema>;
type Cluster = z.output<typeof clusterSchema>;

/**
 * Credentials of the current context of a kubeconfig: client certificate, token, token file or basic auth. Files are re-read when they change.
 * Throws CredentialsError that names the field which is missing, wrong or not supported.
 */
export function kubeconfigCredentials(path: string): Credentials {
  const { cluster, user, namespace } = readContext(path);
  const unsupported =
    user.exec !== undefined ? "exec" : user["auth-provider"] !== undefined ? "auth-provider" : undefined;
  if (unsupported !== undefined) {
    throw new CredentialsError(
      `kubeconfig ${path}: the user of the current context has "${unsupported}", which the operator does not run; ` +
        "accepted are client-certificate, token, tokenFile, and username with password",
    );
  }
  const folder = dirname(resolve(path));
  const at = (file: string | undefined) => (file === undefined ? undefined : rereadFile(resolve(folder, file)));
  const ca = inline(cluster["certificate-authority-data"]) ?? at(cluster["certificate-authority"]);
  const cert = inline(user["client-certificate-data"]) ?? at(user["client-certificate"]);
  const key = inline(user["client-key-data"]) ?? at(user["client-key"]);
  const token = at(user.tokenFile);
  const fixed = fixedAuthorization(user);
  return {
    server: cluster.server.replace(/\/+$/, ""),
    namespace,
    tls: () => tlsOf(cluster, ca?.read(), cert?.read(), key?.read()),
    authorization: () => (token === undefined ? fixed : `Bearer ${token.read()}`),
    expire() {
      for (const file of [ca, cert, key, token]) {
        file?.expire();
      }
    },
  };
}

function readContext(path: string): { cluster: Cluster; user: User; namespace: string | undefined } {
  let content: unknown;
  try {
    content = parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new CredentialsError(`cannot read the kubeconfig ${path}`, { cause });
  }
  const parsed = schema.safeParse(content);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new CredentialsError(
      `kubeconfig ${path}: ${issue?.path.join(".") || "file"}: ${issue?.message ?? "not valid"}`,
    );
  }
  const config = parsed.data;
  const find = <T extends { name: string }>(list: T[], what: string, name: string): T => {
    const found = list.find((entry) => entry.name === name);
    if (found === undefined) {
      throw new CredentialsError(`kubeconfig ${path}: there is no ${what} named "${name}"`);
    }
    return found;
  };
  const { context } = find(config.contexts, "context", config["current-context"]);
  return {
    cluster: find(config.clusters, "cluster", context.cluster).cluster,
    user: find(config.users, "user", context.user).user,
    namespace: context.namespace,
  };
}

function inline(data: string | undefined): RereadFile | undefined {
  if (data === undefined || data === "") {
    return undefined;
  }
  const text = Buffer.from(data, "base64").toString("utf8");
  return { read: () => text, expire: () => {} };
}

function tlsOf(cluster: Cluster, ca: string | undefined, cert: string | undefined, key: string | undefined): Tls {
  const serverName = cluster["tls-server-name"];
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { serverName }),
    ...(cluster["insecure-skip-tls-verify"] === true ? { rejectUnauthorized: false } : {}),
  };
}

function fixedAuthorization(user: User): string | undefined {
  if (user.token !== undefined && user.token !== "") {
    return `Bearer ${user.token}`;
  }
  if (user.username !== undefined && user.username !== "") {
    return `Basic ${Buffer.from(`${user.username}:${user.password ?? ""}`).toString("base64")}`;
  }
  return undefined;
}
