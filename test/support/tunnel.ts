import type { HostPort } from "../../src/endpoint.ts";
import type { LogBook, RunningProcess } from "./process.ts";
import { eventually } from "./tcp-wait.ts";
import { type Metrics, readMetrics } from "./tunnel-metrics.ts";

export const goodSecret = "correct horse battery staple";

export interface RoleOptions {
  /** Valid secrets, the current one first; default one good one. At most two. */
  secrets?: readonly string[];
  /** Milliseconds of silence after which a peer is dead; default 2000. */
  deadline?: number;
  /** Milliseconds that running streams get after a stop signal; default 10000. */
  drainTimeout?: number;
}

export interface ProxyOptions extends RoleOptions {
  /** Address for all listeners; default 127.0.0.1. */
  host?: string;
  rendezvousPort?: number;
  consumerPort?: number;
  acceptProxyProtocol?: boolean;
  /** Default optional. */
  encryption?: "optional" | "required";
}

export type ProxyProtocol = "off" | "v1" | "v2";

export interface TargetOptions extends RoleOptions {
  proxy: HostPort;
  backend: HostPort;
  /** URL of an HTTP proxy that leads to the proxy. */
  via?: string;
  /** Accept a stock bore server and ask it for this port, 0 = any; default: only a netaminity proxy is accepted. */
  borePort?: number;
  /** Default off. */
  encryption?: "off" | "required";
  poolMin?: number;
  poolMax?: number;
  sendProxyProtocol?: ProxyProtocol;
}

/** A proxy or a target that runs, in whatever form. */
export interface RunningRole extends AsyncDisposable {
  readonly log: LogBook;
  readonly health: HostPort;
  /** Only where the role is a process of its own. */
  readonly process: RunningProcess | undefined;
  setSecrets(secrets: readonly string[]): Promise<void>;
  /** What SIGTERM does: no new streams, running ones get the drain timeout. Resolves when the role has ended. */
  drain(): Promise<void>;
}

export interface RunningProxy extends RunningRole {
  readonly rendezvous: HostPort;
  readonly consumers: HostPort;
}

export interface RunningTarget extends RunningRole {
  /** The port that a stock bore server gave to this target. */
  boundPort(): Promise<number>;
}

/** One form of our own two roles. */
export interface Implementation {
  readonly name: string;
  startProxy(options?: ProxyOptions): Promise<RunningProxy>;
  startTarget(options: TargetOptions): Promise<RunningTarget>;
}

export interface Answer {
  status: number;
  body: string;
}

export async function ask(role: RunningRole, path: string): Promise<Answer> {
  const response = await fetch(`http://${role.health.host}:${role.health.port}${path}`);
  return { status: response.status, body: (await response.text()).trim() };
}

export async function metricsOf(role: RunningRole): Promise<Metrics> {
  return readMetrics((await ask(role, "/metrics")).body);
}

export async function untilReady(role: RunningRole, deadline?: number): Promise<void> {
  let last: Answer | undefined;
  await eventually(
    async () => {
      last = await ask(role, "/readyz");
      return last.status === 200;
    },
    () => `the role is ready (last answer ${JSON.stringify(last)}); its log:\n${role.log.text()}`,
    deadline,
  );
}

export async function untilUnready(role: RunningRole, deadline?: number): Promise<void> {
  await eventually(async () => (await ask(role, "/readyz")).status === 503, "the role is not ready", deadline);
}

/** Waits until the sum of a metric's series that carry `labels` satisfies `wanted`. */
export async function untilMetric(
  role: RunningRole,
  name: string,
  labels: Record<string, string>,
  wanted: (value: number) => boolean,
  deadline?: number,
): Promise<number> {
  let last = 0;
  await eventually(
    async () => {
      last = (await metricsOf(role)).sum(name, labels);
      return wanted(last);
    },
    () => `metric ${name}${JSON.stringify(labels)}, last ${last}, is as wanted`,
    deadline,
  );
  return last;
}

export interface TunnelOptions extends RoleOptions {
  backend: HostPort;
  poolMin?: number;
  poolMax?: number;
}

/** A way from a consumer's port to a backend. */
export interface Tunnel extends AsyncDisposable {
  readonly consumers: HostPort;
  /** Where the target side connects to. */
  readonly rendezvous: HostPort | undefined;
  readonly proxy: RunningProxy | undefined;
  readonly target: RunningTarget | undefined;
}

export interface TunnelKind {
  readonly name: string;
  /** Resets and absent backends come through as resets (bore turns both into a clean FIN). */
  readonly carriesReset: boolean;
  /** Opens a tunnel and waits until consumers are served. */
  open(options: TunnelOptions): Promise<Tunnel>;
}

/** No tunnel at all: what the cases demand must hold there first. */
export const direct: TunnelKind = {
  name: "a direct connection",
  carriesReset: true,
  open: async ({ backend }) => ({
    consumers: backend,
    rendezvous: undefined,
    proxy: undefined,
    target: undefined,
    [Symbol.asyncDispose]: async () => {},
  }),
};

/** Both sides are ours. */
export function tunnelOf(implementation: Implementation, encryption: "off" | "required" = "off"): TunnelKind {
  return {
    name: `proxy and target ${implementation.name}${encryption === "off" ? "" : ", encrypted"}`,
    carriesReset: true,
    open: async (options) => {
      await using stack = new AsyncDisposableStack();
      const proxy = stack.use(await implementation.startProxy(options));
      const target = stack.use(await implementation.startTarget({ ...options, encryption, proxy: proxy.rendezvous }));
      await untilReady(target);
      await untilReady(proxy);
      const owned = stack.move();
      const { consumers, rendezvous } = proxy;
      return { consumers, rendezvous, proxy, target, [Symbol.asyncDispose]: () => owned.disposeAsync() };
    },
  };
}
