import { type DrivenSocket, driveSocket, type RawSocket, type TcpOptions, type TcpSocket } from "./tcp.ts";
import { createChanges } from "./tcp-wait.ts";

interface Slot {
  driven?: DrivenSocket;
}

/** Bun's socket has these at run time; its declared type lacks some. */
function asRaw(socket: unknown): RawSocket {
  return socket as RawSocket;
}

const events = {
  data: (socket: { data: Slot }, chunk: Uint8Array) => socket.data.driven?.onData(chunk),
  drain: (socket: { data: Slot }) => socket.data.driven?.onDrain(),
  end: (socket: { data: Slot }) => socket.data.driven?.onFin(),
  close: (socket: { data: Slot }, error?: Error) => socket.data.driven?.onClose(error),
  error: () => {},
};

export interface ConnectOptions extends TcpOptions {
  /** Address to connect to; default 127.0.0.1. */
  host?: string;
}

/** Opens a connection; rejects with the kernel's `code` (such as `ECONNREFUSED`) when that fails. */
export async function connectTcp(port: number, options: ConnectOptions = {}): Promise<TcpSocket> {
  const slot: Slot = {};
  const { promise, resolve, reject } = Promise.withResolvers<TcpSocket>();
  const opening = Bun.connect<Slot>({
    hostname: options.host ?? "127.0.0.1",
    port,
    allowHalfOpen: true,
    data: slot,
    socket: {
      ...events,
      open: (socket) => {
        const raw = asRaw(socket);
        raw.setNoDelay(true);
        slot.driven = driveSocket(raw, options);
        resolve(slot.driven.socket);
      },
      connectError: (_socket, error) => reject(error),
    },
  });
  opening.catch(reject);
  return promise;
}

export interface TcpServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Every connection since the start, oldest first. */
  readonly sockets: readonly TcpSocket[];
  /** Resolves with the next connection that no `accept` has returned yet. */
  accept(deadline?: number): Promise<TcpSocket>;
  /** Stops listening; open connections stay. */
  stopListening(): void;
}

export interface ListenOptions extends TcpOptions {
  host?: string;
  port?: number;
  /** Called for each connection before anything is read. */
  onOpen?: (socket: TcpSocket) => void;
}

export async function listenTcp(options: ListenOptions = {}): Promise<TcpServer> {
  const sockets: TcpSocket[] = [];
  const changes = createChanges();
  let taken = 0;
  const host = options.host ?? "127.0.0.1";
  const listener = Bun.listen<Slot>({
    hostname: host,
    port: options.port ?? 0,
    allowHalfOpen: true,
    data: {},
    socket: {
      ...events,
      open: (socket) => {
        const raw = asRaw(socket);
        raw.setNoDelay(true);
        const driven = driveSocket(raw, options);
        socket.data = { driven };
        sockets.push(driven.socket);
        options.onOpen?.(driven.socket);
        changes.changed();
      },
    },
  });
  return {
    host,
    port: listener.port,
    sockets,
    accept: async (deadline) => {
      const index = taken++;
      await changes.until(
        () => sockets[index] !== undefined,
        `connection ${index} arrives at port ${listener.port}`,
        deadline,
      );
      const socket = sockets[index];
      if (socket === undefined) throw new Error("unreachable: the condition above holds");
      return socket;
    },
    stopListening: () => listener.stop(),
    [Symbol.asyncDispose]: async () => {
      listener.stop();
      for (const socket of sockets) socket.abort();
    },
  };
}

/** Answers every byte with itself, and FIN with FIN. */
export function listenEcho(options: { host?: string; port?: number } = {}): Promise<TcpServer> {
  return listenTcp({
    ...options,
    keep: false,
    onData: (chunk, socket) => {
      // A client that resets in the middle of its answer is part of many tests.
      socket.send(chunk).catch(() => {});
    },
    onFin: (socket) => socket.finish(),
  });
}

/** A port on which nobody listens: just released by a listener. */
export function unusedPort(host = "127.0.0.1"): number {
  const listener = Bun.listen({ hostname: host, port: 0, socket: { data: () => {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}
