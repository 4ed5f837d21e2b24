import { type Relay, startRelay } from "./relay.ts";
import type { TcpSocket } from "./tcp.ts";
import { type ConnectOptions, connectTcp, type ListenOptions, listenTcp, type TcpServer } from "./tcp-ends.ts";
import {
  type Implementation,
  type RunningProxy,
  type RunningTarget,
  type TargetOptions,
  untilMetric,
  untilReady,
} from "./tunnel.ts";

/** A tunnel whose target reaches its proxy over a relay. */
export interface RelayedTunnel extends AsyncDisposable {
  readonly backend: TcpServer;
  readonly proxy: RunningProxy;
  readonly target: RunningTarget;
  readonly relay: Relay;
  connect(options?: ConnectOptions): Promise<TcpSocket>;
}

export type RelayedOptions = Omit<TargetOptions, "proxy" | "backend">;

export async function openRelayed(
  implementation: Implementation,
  server: ListenOptions = {},
  options: RelayedOptions = {},
): Promise<RelayedTunnel> {
  await using stack = new AsyncDisposableStack();
  const backend = stack.use(await listenTcp(server));
  const { encryption: _targetAlone, ...shared } = options;
  const proxy = stack.use(await implementation.startProxy(shared));
  const relay = stack.use(await startRelay(proxy.rendezvous));
  const target = stack.use(await implementation.startTarget({ ...options, proxy: relay, backend }));
  await untilReady(target);
  await untilReady(proxy);
  const owned = stack.move();
  return {
    backend,
    proxy,
    target,
    relay,
    connect: (more) => connectTcp(proxy.consumers.port, more),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Waits until so many idle data connections wait in the proxy's pool. */
export function untilPooled(proxy: RunningProxy, count: number): Promise<number> {
  return untilMetric(proxy, "netaminity_pool_idle", {}, (idle) => idle >= count);
}
