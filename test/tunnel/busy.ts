import type { TcpSocket } from "../support/tcp.ts";
import { connectTcp, listenTcp, type TcpServer } from "../support/tcp-ends.ts";
import type { Tunnel, TunnelKind } from "../support/tunnel.ts";
import { pattern } from "./cases.ts";

/** Streams that carry as much as they can both ways, with both of their ends. */
export interface BusyStreams extends AsyncDisposable {
  readonly tunnel: Tunnel;
  readonly consumers: readonly TcpSocket[];
  readonly servers: readonly TcpSocket[];
  /** Writes at all ends until the streams are over. Resolves then. */
  flood(): Promise<void>;
}

const block = pattern(64 * 1024, 13);
const groupSize = 50;

async function writeOn(socket: TcpSocket): Promise<void> {
  while (!socket.closed) {
    try {
      await socket.send(block);
      // A socket that takes everything at once would leave no time to readers and timers.
      await new Promise(setImmediate);
    } catch {
      // The stream is over.
      return;
    }
  }
}

/** Opens `count` streams, each of which has carried a byte both ways. */
export async function openBusy(kind: TunnelKind, count: number): Promise<BusyStreams> {
  await using stack = new AsyncDisposableStack();
  const backend: TcpServer = stack.use(
    await listenTcp({
      keep: false,
      onOpen: (socket) => void socket.send("x").catch(() => {}),
    }),
  );
  const tunnel = stack.use(await kind.open({ backend }));
  const consumers: TcpSocket[] = [];
  while (consumers.length < count) {
    const size = Math.min(groupSize, count - consumers.length);
    const more = await Promise.all(
      Array.from({ length: size }, () => connectTcp(tunnel.consumers.port, { keep: false })),
    );
    consumers.push(...more.map((socket) => stack.use(socket)));
    for (const socket of more) await socket.send("x");
    await Promise.all(more.map((socket) => socket.untilReceived(1, 20_000)));
  }
  const servers = backend.sockets;
  await Promise.all(servers.map((socket) => socket.untilReceived(1, 20_000)));
  const owned = stack.move();
  return {
    tunnel,
    consumers,
    servers,
    flood: async () => {
      await Promise.all([...consumers, ...servers].map(writeOn));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Lets these sockets read for `read` milliseconds after each `rest` of as many, until `over`. */
export async function readSlowly(
  sockets: readonly TcpSocket[],
  { rest, read, over }: { rest: number; read: number; over: () => boolean },
): Promise<void> {
  while (!over()) {
    for (const socket of sockets) if (!socket.closed) socket.pause();
    await Bun.sleep(rest);
    for (const socket of sockets) if (!socket.closed) socket.resume();
    await Bun.sleep(read);
  }
}
