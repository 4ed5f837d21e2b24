import { type Pointer, ptr, read } from "bun:ffi";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import type { Socket, TCPSocketConnectOptions } from "bun";
import { hasDescriptors } from "./descriptors.ts";
import { libc } from "./libc.ts";
import { sockaddr } from "./socket-address.ts";
import { keepUrgentInline } from "./socket-options.ts";
import { Wire, wires } from "./wire.ts";
import { type SocketEvents, wireHandlers } from "./wire-handlers.ts";

/** A connection on its way. Whoever asked for it either takes the wire, and sets its owner at once, or gives it up. */
export interface Attempt {
  /** Rejects with ConnectFailed. */
  readonly wire: Promise<Wire>;
  /** Closes the descriptor, in whatever state it is; the promise rejects. */
  giveUp(): void;
}

/** No connection; `code` is the system's word for the cause (ECONNREFUSED, EHOSTUNREACH, EMFILE and so on). */
export class ConnectFailed extends Error {
  override readonly name = "ConnectFailed";

  constructor(readonly code: string) {
    super(code);
  }
}

/** Totals over the process. */
export const dials = {
  /** Descriptors of connections on their way. */
  inProgress: 0,
};

/** Numbers of Linux on amd64 and arm64. */
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const IPPROTO_TCP = 6;
const EINPROGRESS = 115;

/** Where the C library keeps the cause of the last failed call of this thread. */
const errnoAt = (libc?.__errno_location() ?? undefined) as Pointer | undefined;

const errorNames = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));

/** What this system says about a failed connect is the true cause; otherwise Bun calls all of them ECONNREFUSED (measured with 1.4.5). */
export const knowsCauses = errnoAt !== undefined;

/** Connects to a numeric address. */
export function connectWire(address: string, port: number): Attempt {
  // Bun would call a lack of descriptors ECONNREFUSED (measured with 1.4.5).
  if (!hasDescriptors(wires.open + dials.inProgress, 0)) return failedAttempt("EMFILE");
  const to = sockaddr(address, port);
  return to === undefined || errnoAt === undefined ? connectByBun(address, port) : connectByKernel(to, port, errnoAt);
}

function failedAttempt(code: string): Attempt {
  return { wire: Promise.reject(new ConnectFailed(code)), giveUp() {} };
}

/**
 * Bun shows nothing of a connection before it is there: one that nobody answers would keep its descriptor for the two minutes that the kernel goes on
 * trying. So the socket is made here, and Bun gets it on its way: it reports `drain` when it is connected, `close` with the cause when that failed,
 * and `terminate` closes it at any time (measured with 1.4.5).
 */
function connectByKernel(to: Uint8Array, port: number, errno: Pointer): Attempt {
  const fd = libc?.socket(to[0] ?? 0, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP) ?? -1;
  if (fd < 0) return failedAttempt(errorName(errno));
  // Before the first byte can come: of two urgent ones at the very beginning the kernel would drop the first.
  keepUrgentInline(fd);
  if (libc?.connect(fd, ptr(to), to.byteLength) !== 0 && read.i32(errno, 0) !== EINPROGRESS) {
    const cause = errorName(errno);
    libc?.close(fd);
    return failedAttempt(cause);
  }
  const outcome = new Outcome(port);
  let socket: Socket<SocketEvents> | undefined;
  // Bun takes a descriptor, its types do not say so yet.
  const given: Omit<TCPSocketConnectOptions<SocketEvents>, "hostname" | "port"> & { fd: number } = {
    fd,
    allowHalfOpen: true,
    socket: {
      ...wireHandlers,
      open(opened) {
        socket = opened;
        if (outcome.isUnwanted) opened.terminate();
      },
      drain(opened) {
        if (opened.data === undefined) outcome.connected(opened);
        else opened.data.onDrain();
      },
      close(closed, cause) {
        if (closed.data === undefined) outcome.failed(cause);
        else closed.data.onClose(cause);
      },
    },
  };
  void Bun.connect(given as unknown as TCPSocketConnectOptions<SocketEvents>).catch((cause) => outcome.failed(cause));
  return { wire: outcome.wire, giveUp: () => outcome.giveUp(() => socket?.terminate()) };
}

function errorName(errno: Pointer): string {
  const number = read.i32(errno, 0);
  return errorNames.get(number) ?? `error ${number}`;
}

/** Without the system's library, or for an address with a zone: what is given up keeps its descriptor until the kernel gives up too. */
function connectByBun(address: string, port: number): Attempt {
  const outcome = new Outcome(port);
  Bun.connect<SocketEvents>({
    hostname: address,
    port,
    allowHalfOpen: true,
    socket: {
      ...wireHandlers,
      open: (opened) => outcome.connected(opened),
      close: (closed, cause) => closed.data?.onClose(cause),
      connectError() {},
    },
  }).catch((cause) => outcome.failed(cause));
  return { wire: outcome.wire, giveUp: () => outcome.giveUp(() => {}) };
}

/** How an attempt ends: once, whatever Bun reports how often. */
class Outcome {
  #result = Promise.withResolvers<Wire>();
  isUnwanted = false;
  #isOver = false;

  constructor(readonly port: number) {
    dials.inProgress += 1;
    // Whoever gave up does not listen any more.
    this.#result.promise.catch(() => {});
  }

  get wire(): Promise<Wire> {
    return this.#result.promise;
  }

  connected(socket: Socket<SocketEvents>): void {
    this.#over();
    if (this.isUnwanted) socket.terminate();
    else if (isOwnEnd(socket, this.port)) {
      this.failed(Object.assign(new Error("the connection met itself"), { code: "ECONNREFUSED" }));
      socket.terminate();
    } else {
      const wire = new Wire(socket);
      socket.data = wire;
      this.#result.resolve(wire);
    }
  }

  failed(cause: unknown): void {
    this.#over();
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "ECONNABORTED";
    this.#result.reject(new ConnectFailed(code));
  }

  giveUp(close: () => void): void {
    this.isUnwanted = true;
    this.#result.reject(new ConnectFailed("ECANCELED"));
    close();
  }

  #over(): void {
    if (!this.#isOver) dials.inProgress -= 1;
    this.#isOver = true;
  }
}

let chosen: readonly [number, number] | undefined;

/** Whether the kernel may choose this port for the near end of a connection. */
function isChosen(port: number): boolean {
  chosen ??= chosenPorts();
  return port >= chosen[0] && port <= chosen[1];
}

function chosenPorts(): [number, number] {
  try {
    const [first = 1, last = 65_535] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8")
      .split(/\s+/)
      .map(Number);
    return [first, last];
  } catch {
    return [1, 65_535];
  }
}

/**
 * A connection to a port of this machine where nobody listens meets itself when the kernel happens to choose that very port for our end
 * (simultaneous open, RFC 9293 section 3.5): whoever speaks into it hears himself.
 */
function isOwnEnd(socket: Socket<SocketEvents>, port: number): boolean {
  return isChosen(port) && socket.localPort === port && socket.localAddress === socket.remoteAddress;
}
