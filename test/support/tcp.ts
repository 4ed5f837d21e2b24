import { createChanges } from "./tcp-wait.ts";

/**
 * A TCP end for tests that shows what the kernel shows: every byte, FIN and reset as separate facts, and how much was accepted for sending.
 * Nothing is closed behind the test's back: the socket stays until both directions have ended or the test resets it.
 */
export interface TcpSocket extends AsyncDisposable {
  /** Number of the file descriptor while the socket is open. */
  readonly descriptor: number;
  readonly remotePort: number;
  readonly localPort: number;
  /** Bytes read so far. */
  readonly received: number;
  /** Bytes that the kernel has taken for sending so far. */
  readonly accepted: number;
  /** Bytes queued by `send` that the kernel has not taken yet. */
  readonly unsent: number;
  /** The other end's FIN was read, after all of its bytes. */
  readonly fin: boolean;
  /** Code of the error that ended the connection: `ECONNRESET`, or `EPIPE` for a reset after the other end's FIN. */
  readonly reset: string | undefined;
  readonly closed: boolean;
  /** All bytes read so far; empty when made with `keep: false`. */
  bytes(): Buffer;
  text(): string;
  /** Queues bytes and resolves when the kernel has taken all that was queued; rejects when the connection ends before. */
  send(chunk: string | Uint8Array): Promise<void>;
  /** Offers bytes once and tells how many the kernel took; nothing is queued. */
  offer(chunk: Uint8Array): number;
  /** Sends FIN behind everything queued. */
  finish(): void;
  /** Sends a reset and forgets the connection. */
  abort(): void;
  /** What close(2) does, and so the end of a process: FIN behind what the kernel has taken, or a reset where bytes are unread. */
  close(): void;
  pause(): void;
  resume(): void;
  /** Waits for a condition over this socket's own state. */
  until(condition: (socket: TcpSocket) => boolean, what: string, deadline?: number): Promise<void>;
  untilReceived(bytes: number, deadline?: number): Promise<void>;
  untilFin(deadline?: number): Promise<void>;
  untilReset(deadline?: number): Promise<void>;
  untilClosed(deadline?: number): Promise<void>;
}

export interface TcpOptions {
  /** Keep the bytes for `bytes()`; default true. */
  keep?: boolean;
  /** Called for each chunk; the chunk is only valid during the call. */
  onData?: (chunk: Uint8Array, socket: TcpSocket) => void;
  /** Called once when the other end's FIN has been read. */
  onFin?: (socket: TcpSocket) => void;
  /** Called once when the connection is over; `socket.reset` tells whether by a reset. */
  onClose?: (socket: TcpSocket) => void;
}

/** What Bun's sockets have at run time; its types lack some of it. */
export interface RawSocket {
  write(chunk: Uint8Array): number;
  shutdown(): void;
  end(): void;
  terminate(): void;
  pause(): void;
  resume(): void;
  setNoDelay(enable: boolean): boolean;
  readonly remotePort: number;
  readonly localPort: number;
  readonly fd: number;
}

/** The socket plus the events that drive it. */
export interface DrivenSocket {
  socket: TcpSocket;
  onData(chunk: Uint8Array): void;
  onDrain(): void;
  onFin(): void;
  onClose(error: Error | undefined): void;
}

function errorCode(error: Error | undefined): string | undefined {
  if (error === undefined) return undefined;
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
}

interface Sending {
  /** A write met the other end's reset: Bun then reports an end without an error. */
  broken: boolean;
  queue: Uint8Array[];
  unsent: number;
  accepted: number;
  wantsFin: boolean;
}

/** How much the kernel took. */
function write(raw: RawSocket, sending: Sending, chunk: Uint8Array): number {
  const taken = raw.write(chunk);
  if (taken < 0) sending.broken = true;
  sending.accepted += Math.max(0, taken);
  return Math.max(0, taken);
}

/** Writes as much of the queue as the kernel takes; FIN goes out behind the last byte. */
function flush(raw: RawSocket, sending: Sending): void {
  for (let head = sending.queue[0]; head !== undefined; head = sending.queue[0]) {
    const taken = write(raw, sending, head);
    sending.unsent -= taken;
    if (taken < head.byteLength) {
      sending.queue[0] = head.subarray(taken);
      return;
    }
    sending.queue.shift();
  }
  if (sending.wantsFin) {
    sending.wantsFin = false;
    raw.shutdown();
  }
}

export function driveSocket(raw: RawSocket, options: TcpOptions): DrivenSocket {
  const changes = createChanges();
  const sending: Sending = { broken: false, queue: [], unsent: 0, accepted: 0, wantsFin: false };
  const chunks: Buffer[] = [];
  const state = { received: 0, fin: false, closed: false, aborted: false, reset: undefined as string | undefined };
  const ports = { remote: raw.remotePort, local: raw.localPort };
  const show = () =>
    `received ${state.received}, accepted ${sending.accepted}, unsent ${sending.unsent}, fin ${state.fin}, reset ${state.reset}, closed ${state.closed}`;
  const until: TcpSocket["until"] = (condition, what, deadline) =>
    changes.until(
      () => condition(socket),
      () => `${what} (${show()})`,
      deadline,
    );
  const socket: TcpSocket = {
    get descriptor() {
      return raw.fd;
    },
    remotePort: ports.remote,
    localPort: ports.local,
    get received() {
      return state.received;
    },
    get accepted() {
      return sending.accepted;
    },
    get unsent() {
      return sending.unsent;
    },
    get fin() {
      return state.fin;
    },
    get reset() {
      return state.reset;
    },
    get closed() {
      return state.closed;
    },
    bytes: () => Buffer.concat(chunks),
    text: () => Buffer.concat(chunks).toString(),
    send: async (chunk) => {
      const bytes = typeof chunk === "string" ? Buffer.from(chunk) : new Uint8Array(chunk);
      sending.queue.push(bytes);
      sending.unsent += bytes.byteLength;
      const goal = sending.accepted + sending.unsent;
      flush(raw, sending);
      await until(() => sending.accepted >= goal || state.closed, "the kernel takes all bytes", 60_000);
      if (sending.accepted < goal) throw new Error(`the connection ended with bytes unsent (${show()})`);
    },
    offer: (chunk) => write(raw, sending, chunk),
    finish: () => {
      sending.wantsFin = true;
      flush(raw, sending);
    },
    abort: () => {
      state.aborted = true;
      if (!state.closed) raw.terminate();
    },
    close: () => {
      state.aborted = true;
      sending.queue.length = 0;
      if (!state.closed) raw.end();
    },
    pause: () => raw.pause(),
    resume: () => raw.resume(),
    until,
    untilReceived: (bytes, deadline) => until((s) => s.received >= bytes, `${bytes} bytes arrive`, deadline),
    untilFin: (deadline) => until((s) => s.fin, "FIN arrives", deadline),
    untilReset: (deadline) => until((s) => s.reset !== undefined, "a reset arrives", deadline),
    untilClosed: (deadline) => until((s) => s.closed, "the connection is over", deadline),
    [Symbol.asyncDispose]: async () => {
      state.aborted = true;
      if (!state.closed) raw.terminate();
    },
  };
  return {
    socket,
    onData: (chunk) => {
      state.received += chunk.byteLength;
      if (options.keep !== false) chunks.push(Buffer.from(chunk));
      options.onData?.(chunk, socket);
      changes.changed();
    },
    onDrain: () => {
      flush(raw, sending);
      changes.changed();
    },
    onFin: () => {
      if (sending.broken) return;
      state.fin = true;
      options.onFin?.(socket);
      changes.changed();
    },
    onClose: (error) => {
      state.closed = true;
      state.reset = errorCode(error);
      if (sending.broken && !state.aborted) state.reset ??= state.fin ? "EPIPE" : "ECONNRESET";
      // Bun reports a FIN that comes after our own FIN as a close without error.
      if (state.reset === undefined && !state.aborted && !state.fin) {
        state.fin = true;
        options.onFin?.(socket);
      }
      options.onClose?.(socket);
      changes.changed();
    },
  };
}
