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
  "proxy-url": z.undefined("is not supported; the variable HTTPS_PROXY is").optional(),
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
  "current-context": z.string().optional(),
  contexts: z.array(z.looseObject({ name: z.string(), context: contextSchema })).nullish(),
  clusters: z.array(z.looseObject({ name: z.string(), cluster: clusterSchema })).nullish(),
  users: z.array(z.looseObject({ name: z.string(), user: userSchema })).nullish(),
});
type User = z.output<typeof userSchema>;
type Cluster = z.output<typeof clusterSchema>;

export interface KubeconfigOptions {
  /** Name of the context to use instead of the current one. */
  context?: string | undefined;
  /** Gets credentials from the program that the user entry names (`exec`). Absent: such an entry is refused. */
  runProgram?: (exec: unknown) => ProgramCredentials;
}

/** What a credential program gave. */
export interface ProgramCredentials {
  token?: string | undefined;
  certificate?: { cert: string; key: string } | undefined;
  /** Runs the program anew at the next use. */
  expire(): void;
}

/**
 * Credentials of one context of a kubeconfig: client certificate, token, token file, basic auth, or a program. Files are re-read when they
 * change. Of several kubeconfig files the first that has an entry of a name counts, as with kubectl.
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
      `kubeconfig ${path}: the user of the current context has "${unsupported}", which the operator does not run; ` +
        "accepted are client-certificate, token, tokenFile, and username with password",
    );
  }
  const at = (file: string | undefined, of: { path: string }) =>
    file === undefined ? undefined : rereadFile(resolve(dirname(resolve(of.path)), file));
  const ca = inline(cluster.value["certificate-authority-data"]) ?? at(cluster.value["certificate-authority"], cluster);
  const cert = inline(user.value["client-certificate-data"]) ?? at(user.value["client-certificate"], user);
  const key = inline(user.value["client-key-data"]) ?? at(user.value["client-key"], user);
  const token = at(user.value.tokenFile, user);
  const program = user.value.exec === undefined ? undefined : runProgram?.(user.value.exec);
  const fixed = fixedAuthorization(user.value);
  return {
    server: cluster.value.server.replace(/\/+$/, ""),
    namespace,
    tls: () =>
      tlsOf(
        cluster.value,
        ca?.read(),
        program?.certificate?.cert ?? cert?.read(),
        program?.certificate?.key ?? key?.read(),
      ),
    authorization() {
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
  const find = <T>(what: string, key: string, list: (config: Config) => T | undefined): Entry<T> => {
    for (const { path, config } of files) {
      const value = list(config);
      if (value !== undefined) return { path, value };
    }
    throw new CredentialsError(`kubeconfig ${all}: there is no ${what} named "${key}"`);
  };
  const { path, value } = find("context", name, ({ contexts }) => contexts?.find((each) => each.name === name));
  const { cluster, user, namespace } = value.context;
  return {
    path,
    namespace,
    cluster: find("cluster", cluster, ({ clusters }) => clusters?.find((each) => each.name === cluster)?.cluster),
    user: find("user", user, ({ users }) => users?.find((each) => each.name === user)?.user),
  };
}

type Config = z.output<typeof schema>;

function readConfig(path: string): Config {
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
  return parsed.data;
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
