import { existsSync, readFileSync } from "node:fs";
import { delimiter, dirname, resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { type Credentials, type RereadFile, rereadFile, type Tls } from "./credentials.ts";
import { CredentialsError } from "./errors.ts";

// Own code: what the library's KubeConfig makes of a kubeconfig is not what kubectl makes of it (docs/INTERNAL.md, "Decisions").

const clusterSchema = z.looseObject({
  server: z.string().regex(/^https?:\/\//, "must be a URL"),
  "certificate-authority": z.string().optional(),
  "certificate-authority-data": z.string().optional(),
  "insecure-skip-tls-verify": z.boolean().optional(),
  "tls-server-name": z.string().optional(),
  "proxy-url": z
    .string()
    .regex(/^https?:\/\//, "must be http://HOST:PORT or https://HOST:PORT; others are not supported")
    .or(z.literal(""))
    .optional(),
  extensions: z.array(z.looseObject({ name: z.string(), extension: z.unknown() })).optional(),
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
  as: z.string().optional(),
  "as-uid": z.string().optional(),
  // Several would have to be headers of one name, which fetch makes one of.
  "as-groups": z.array(z.string()).max(1, "several groups are not supported").optional(),
  "as-user-extra": z.undefined("is not supported").optional(),
  exec: z.unknown().optional(),
  "auth-provider": z.unknown().optional(),
});
const contextSchema = z.looseObject({
  cluster: z.string(),
  user: z.string().default(""),
  namespace: z.string().optional(),
});
/** Entries are examined when they are used: what is wrong with another cluster is no concern of ours. */
const entries = z.array(z.looseObject({ name: z.string() })).optional();
const schema = z.looseObject({
  "current-context": z.string().optional(),
  contexts: entries,
  clusters: entries,
  users: entries,
});
type User = z.output<typeof userSchema>;
type Cluster = z.output<typeof clusterSchema>;

export interface KubeconfigOptions {
  /** Name of the context to use instead of the current one. */
  context?: string | undefined;
  /** Gets credentials from the program that the user entry of a file in `folder` names (`exec`). Absent: such an entry is refused. */
  runProgram?: (exec: unknown, folder: string, cluster: ClusterInfo) => ProgramCredentials;
}

/** What a credential program may ask to be told about the cluster (`provideClusterInfo`), in the words of ExecCredential. */
export type ClusterInfo = Record<string, unknown>;

/** What a credential program gave. */
export interface ProgramCredentials {
  token?: string | undefined;
  certificate?: { cert: string; key: string } | undefined;
  /** Runs the program anew at the next use. */
  expire(): void;
}

/**
 * Credentials of one context of a kubeconfig: client certificate, token, token file, basic auth, or a program. Files are re-read when they
 * change. Of several kubeconfig files the first that has an entry of a name counts, and over plain HTTP no secret is sent, as with kubectl.
 * Throws CredentialsError that names the field which is missing, wrong or not supported.
 */
export function kubeconfigCredentials(
  paths: string | readonly string[],
  { context, runProgram }: KubeconfigOptions = {},
): Credentials {
  const { cluster, user, namespace, path } = readContext(typeof paths === "string" ? [paths] : paths, context);
  const unsupported =
    user.value.exec !== undefined && runProgram === undefined
      ? "exec"
      : user.value["auth-provider"] !== undefined
        ? "auth-provider"
        : undefined;
  if (unsupported !== undefined) {
    throw new CredentialsError(
      `kubeconfig ${path}: the user of the current context has "${unsupported}", which is not run here; ` +
        "accepted are client-certificate, token, tokenFile, and username with password",
    );
  }
  const at = (file: string | undefined, of: { path: string }) =>
    file === undefined ? undefined : rereadFile(resolve(dirname(resolve(of.path)), file));
  const ca = inline(cluster.value["certificate-authority-data"]) ?? at(cluster.value["certificate-authority"], cluster);
  const cert = inline(user.value["client-certificate-data"]) ?? at(user.value["client-certificate"], user);
  const key = inline(user.value["client-key-data"]) ?? at(user.value["client-key"], user);
  const token = at(user.value.tokenFile, user);
  const program =
    user.value.exec === undefined
      ? undefined
      : runProgram?.(user.value.exec, dirname(resolve(user.path)), clusterInfo(cluster.value, ca?.read()));
  const fixed = fixedAuthorization(user.value);
  const server = cluster.value.server.replace(/\/+$/, "");
  return {
    server,
    namespace,
    proxy: cluster.value["proxy-url"] || undefined,
    headers: impersonation(user.value),
    tls: () =>
      tlsOf(
        cluster.value,
        ca?.read(),
        program?.certificate?.cert ?? cert?.read(),
        program?.certificate?.key ?? key?.read(),
      ),
    authorization() {
      if (!server.startsWith("https:")) {
        return undefined;
      }
      const bearer = program?.token ?? token?.read();
      return bearer === undefined ? fixed : `Bearer ${bearer}`;
    },
    expire() {
      for (const source of [ca, cert, key, token, program]) {
        source?.expire();
      }
    },
  };
}

/** https://kubernetes.io/docs/reference/config-api/client-authentication.v1/#client-authentication-k8s-io-v1-Cluster */
function clusterInfo(cluster: Cluster, ca: string | undefined): ClusterInfo {
  const ours = cluster.extensions?.find(({ name }) => name === "client.authentication.k8s.io/exec");
  return {
    server: cluster.server,
    "tls-server-name": cluster["tls-server-name"],
    "insecure-skip-tls-verify": cluster["insecure-skip-tls-verify"],
    "certificate-authority-data": ca === undefined ? undefined : Buffer.from(ca).toString("base64"),
    "proxy-url": cluster["proxy-url"],
    config: ours?.extension,
  };
}

/**
 * The kubeconfig files that a setting or the variable KUBECONFIG names: one, or several as in PATH, of which those that are absent are left
 * out. When none is there, the first, whose absence is the error to report.
 */
export function kubeconfigPaths(named: string): string[] {
  if (existsSync(named)) return [named];
  const paths = named.split(delimiter).filter((path) => path !== "");
  const present = paths.filter((path) => existsSync(path));
  return present.length > 0 ? present : paths.slice(0, 1);
}

/** An entry and the file that it stands in: paths in it are relative to that file's folder. */
interface Entry<T> {
  path: string;
  value: T;
}

interface Context {
  path: string;
  cluster: Entry<Cluster>;
  user: Entry<User>;
  namespace: string | undefined;
}

function readContext(paths: readonly string[], wanted: string | undefined): Context {
  const files = paths.map((path) => ({ path, config: readConfig(path) }));
  const all = paths.join(", ");
  const name =
    wanted ?? files.map(({ config }) => config["current-context"]).find((each) => each !== undefined && each !== "");
  if (name === undefined) {
    throw new CredentialsError(`kubeconfig ${all}: current-context: must name a context`);
  }
  /** The first entry of that name in a list of any file. The entry holds its value under the singular of the list's name. */
  const find = <T>(list: "contexts" | "clusters" | "users", key: string, entry: z.ZodType<T>): Entry<T> => {
    const word = list.slice(0, -1);
    for (const { path, config } of files) {
      const index = config[list]?.findIndex((each) => each.name === key) ?? -1;
      if (index >= 0)
        return { path, value: checked(path, `${list}.${index}.${word}`, entry, config[list]?.[index]?.[word] ?? {}) };
    }
    throw new CredentialsError(`kubeconfig ${all}: there is no ${word} named "${key}"`);
  };
  const { path, value: context } = find("contexts", name, contextSchema);
  return {
    path,
    namespace: context.namespace,
    cluster: find("clusters", context.cluster, clusterSchema),
    user: context.user === "" ? { path, value: {} } : find("users", context.user, userSchema),
  };
}

function readConfig(path: string): z.output<typeof schema> {
  let content: unknown;
  try {
    // Nothing at all is an empty kubeconfig, and null the same as absent.
    content = withoutNulls(parse(readFileSync(path, "utf8")) ?? {});
  } catch (cause) {
    throw new CredentialsError(`cannot read the kubeconfig ${path}`, { cause });
  }
  return checked(path, "", schema, content);
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((each) => each !== null).map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]));
}

/** `place` is that of the content in the file, empty for all of it. */
function checked<T>(path: string, place: string, schema: z.ZodType<T>, content: unknown): T {
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = [...(place === "" ? [] : [place]), ...(issue?.path ?? [])].join(".");
  throw new CredentialsError(`kubeconfig ${path}: ${field || "file"}: ${issue?.message ?? "not valid"}`);
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
    rejectUnauthorized: cluster["insecure-skip-tls-verify"] !== true,
  };
}

/** As whom the user acts (https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/). */
function impersonation({ as: name, "as-uid": uid, "as-groups": groups }: User): Record<string, string> {
  const [group] = groups ?? [];
  return {
    ...(name === undefined ? {} : { "impersonate-user": name }),
    ...(uid === undefined ? {} : { "impersonate-uid": uid }),
    ...(group === undefined ? {} : { "impersonate-group": group }),
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
