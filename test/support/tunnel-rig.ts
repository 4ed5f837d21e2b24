import type { HostPort } from "../../src/endpoint.ts";
import type { TcpSocket } from "./tcp.ts";
import { type ConnectOptions, connectTcp, type ListenOptions, listenTcp, type TcpServer } from "./tcp-ends.ts";
import type { Tunnel, TunnelKind, TunnelOptions } from "./tunnel.ts";

/** A tunnel with a backend of the test's own behind it. */
export interface Rig extends AsyncDisposable {
  readonly tunnel: Tunnel;
  readonly backend: TcpServer;
  connect(options?: ConnectOptions): Promise<TcpSocket>;
  /** Connects a consumer and returns it with the backend's end of the same stream. No other consumer may connect meanwhile. */
  pair(options?: ConnectOptions): Promise<{ consumer: TcpSocket; server: TcpSocket }>;
}

/**
 * Connects and waits for the connection to be refused or reset; anything else fails. The reset may be seen before the connection is:
 * then the attempt itself fails with it.
 */
export async function isTurnedAway({ host, port }: HostPort, deadline = 3000): Promise<void> {
  const outcome = await connectTcp(port, { host }).then(
    async (consumer) => {
      await consumer.untilClosed(deadline);
      return consumer.received > 0 ? "it was served" : (consumer.reset ?? "it ended with FIN");
    },
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  );
  if (outcome !== "ECONNRESET" && outcome !== "ECONNREFUSED")
    throw new Error(`a consumer was not turned away: ${outcome}`);
}

export async function openRig(
  kind: TunnelKind,
  server: ListenOptions = {},
  options: Omit<TunnelOptions, "backend"> = {},
): Promise<Rig> {
  await using stack = new AsyncDisposableStack();
  const backend = stack.use(await listenTcp(server));
  const tunnel = stack.use(await kind.open({ ...options, backend: { host: backend.host, port: backend.port } }));
  const owned = stack.move();
  const connect: Rig["connect"] = (more) => connectTcp(tunnel.consumers.port, { host: tunnel.consumers.host, ...more });
  return {
    tunnel,
    backend,
    connect,
    pair: async (more) => {
      const consumer = await connect(more);
      return { consumer, server: await backend.accept() };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
