import { existsSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { formatHostPort, type HostPort, parseHostPort } from "../../src/endpoint.ts";
import { type LogLine, type RunningProcess, startProcess } from "./process.ts";
import { goodSecret, type Implementation, type ProxyOptions, type RoleOptions, type TargetOptions } from "./tunnel.ts";

/** The compiled executable: `NETAMINITY_BINARY`, or what `npm run build` made. */
export function executable(): string {
  const path = resolve(process.env.NETAMINITY_BINARY ?? join(import.meta.dir, "../../dist/netaminity"));
  if (!existsSync(path)) throw new Error(`${path} is missing: run \`npm run build\` first`);
  return path;
}

/** Wraps the command line, for example to set limits before the program starts. */
export type Launcher = (command: string[]) => string[];

export interface SecretFolder extends AsyncDisposable {
  /** Environment that points to the files. */
  readonly environment: Record<string, string>;
  write(secrets: readonly string[]): Promise<void>;
}

async function replaceFile(path: string, text: string | undefined): Promise<void> {
  if (text === undefined) return rm(path, { force: true });
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

async function makeSecretFolder(secrets: readonly string[]): Promise<SecretFolder> {
  const folder = await mkdtemp(join(tmpdir(), "netaminity-secret-"));
  const current = join(folder, "secret");
  const previous = join(folder, "previous-secret");
  const write = async (values: readonly string[]) => {
    // The previous one first: at no moment is a secret missing that is valid before and after.
    await replaceFile(previous, values[1]);
    await replaceFile(current, values[0] ?? "");
  };
  await write(secrets);
  return {
    environment: { NETAMINITY_SECRET_FILE: current, NETAMINITY_PREVIOUS_SECRET_FILE: previous },
    write,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

function addressIn(line: LogLine, field: string): HostPort {
  const text = String(line.fields[field]);
  const address = parseHostPort(text);
  if (address === undefined) throw new Error(`no address in field ${field} of ${JSON.stringify(line)}`);
  return address;
}

const local = "127.0.0.1:0";

function sharedEnvironment(options: RoleOptions): Record<string, string> {
  return {
    NETAMINITY_LOG_FORMAT: "json",
    NETAMINITY_HEALTH_LISTEN: local,
    NETAMINITY_DEADLINE: `${options.deadline ?? 2000}ms`,
    NETAMINITY_DRAIN_TIMEOUT: `${options.drainTimeout ?? 10_000}ms`,
  };
}

/** Executables of the version before refuse a variable that they do not know. */
const encryptionOf = ({ encryption }: ProxyOptions | TargetOptions): Record<string, string> =>
  encryption === "required" ? { NETAMINITY_ENCRYPTION: encryption } : {};

function proxyEnvironment(options: ProxyOptions): Record<string, string> {
  const host = options.host ?? "127.0.0.1";
  return {
    ...sharedEnvironment(options),
    NETAMINITY_LISTEN: formatHostPort({ host, port: options.rendezvousPort ?? 0 }),
    NETAMINITY_CONSUMER_LISTEN: formatHostPort({ host, port: options.consumerPort ?? 0 }),
    NETAMINITY_ACCEPT_PROXY_PROTOCOL: String(options.acceptProxyProtocol ?? false),
    ...encryptionOf(options),
  };
}

function targetEnvironment(options: TargetOptions): Record<string, string> {
  return {
    ...sharedEnvironment(options),
    NETAMINITY_PROXY_ENDPOINT: formatHostPort(options.proxy),
    ...(options.via !== undefined && { NETAMINITY_VIA: options.via }),
    NETAMINITY_ENDPOINT: formatHostPort(options.backend),
    ...(options.borePort !== undefined && { NETAMINITY_BORE_PORT: String(options.borePort) }),
    NETAMINITY_POOL_MIN: String(options.poolMin ?? 2),
    NETAMINITY_POOL_MAX: String(options.poolMax ?? 64),
    NETAMINITY_SEND_PROXY_PROTOCOL: options.sendProxyProtocol ?? "off",
    ...encryptionOf(options),
  };
}

async function startRole(
  role: "proxy" | "target",
  environment: Record<string, string>,
  options: RoleOptions,
  { launch, patience }: { launch: Launcher; patience: number | undefined },
) {
  await using stack = new AsyncDisposableStack();
  const secrets = stack.use(await makeSecretFolder(options.secrets ?? [goodSecret]));
  const process: RunningProcess = stack.use(
    startProcess(launch([executable(), role]), { ...environment, ...secrets.environment }),
  );
  const listening = await Promise.race([process.log.first("listening", {}, patience), refuseEnd(process)]);
  const owned = stack.move();
  return {
    listening,
    shared: {
      log: process.log,
      process,
      health: addressIn(listening, "health"),
      setSecrets: secrets.write,
      drain: async () => {
        process.signal("SIGTERM");
        await process.exited(options.drainTimeout ?? 10_000);
      },
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    },
  };
}

async function refuseEnd(process: RunningProcess): Promise<never> {
  const ending = await process.exited(60_000);
  throw new Error(`the role ended with ${ending} before it listened:\n${process.log.text()}`);
}

/** The executable as processes of its own, started through `launch`. `patience`: milliseconds that a start may take. */
export function compiledWith(launch: Launcher, patience?: number): Implementation {
  const how = { launch, patience };
  return {
    name: "compiled",
    startProxy: async (options = {}) => {
      const { listening, shared } = await startRole("proxy", proxyEnvironment(options), options, how);
      return {
        ...shared,
        rendezvous: addressIn(listening, "rendezvous"),
        consumers: addressIn(listening, "consumers"),
      };
    },
    startTarget: async (options) => {
      const { shared } = await startRole("target", targetEnvironment(options), options, how);
      const boundPort = async () => {
        await shared.log.first("session up");
        return Number(shared.log.all("session up").at(-1)?.fields.consumers);
      };
      return { ...shared, boundPort };
    },
  };
}

export const compiled: Implementation = compiledWith((command) => command);
