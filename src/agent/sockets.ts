import type { SocketHandler } from "bun";
import type { HostPort } from "../endpoint.ts";
import { descriptorShortage, hasDescriptors } from "./descriptors.ts";
import { libc } from "./libc.ts";
import { keepUrgentInline, setKeepAlive, setResetOnClose } from "./socket-options.ts";
import { Wire, wires } from "./wire.ts";

/** The callbacks that all wires share; `socket.data` is set before any of them can come. */
const handlers: SocketHandler<Wire> = {
  data: (socket, chunk) => socket.data.owner.received(chunk),
  drain: (socket) => socket.data?.onDrain(),
  end: (socket) => socket.data.onEnd(),
  close: (socket, cause) => socket.data?.onClose(cause),
  // Bun reports an exception of a callback here: a defect of ours, and as an uncaught one it ends the process.
  error: (_socket, cause) => reportError(cause),
};

export interface Listener {
  /** The real port, also when 0 was asked for. */
  port: number;
  /** No new connections; accepted ones go on. */
  stop(): void;
}

export interface ListenOptions {
  /** Descriptors that must stay free after an accept: keeps room for more important connections. */
  spareDescriptors: () => number;
  /** Seconds of silence after which the kernel asks whether the peer is still there; absent: never, as on a direct connection. */
  keepAlive?: number;
  accept(wire: Wire): void;
  /** A connection was reset because descriptors are used up. */
  exhausted(): void;
}

/** Accepts connections on `at`. Throws what Bun throws (`code` EADDRINUSE, EACCES) when it cannot. */
export function listenWires(at: HostPort, { spareDescriptors, keepAlive, accept, exhausted }: ListenOptions): Listener {
  const listener = Bun.listen<Wire>({
    hostname: at.host,
    port: at.port,
    exclusive: true,
    allowHalfOpen: true,
    socket: {
      ...handlers,
      open(socket) {
        const wire = new Wire(socket, "reset");
        socket.data = wire;
        // Where the listener could not be given it, for lack of the system's library, each socket needs a call of Bun's.
        if (libc === undefined && keepAlive !== undefined) wire.keepAlive(keepAlive);
        // Bun spins on EMFILE and tells nobody (measured with 1.4.5), so the limit must not be reached.
        if (hasDescriptors(wires.open + dialling, spareDescriptors())) accept(wire);
        else {
          wire.reset();
          exhausted();
        }
      },
    },
  });
  const { fd } = listener as typeof listener & { readonly fd: number };
  // Accepted sockets inherit these, which saves calls for each.
  setResetOnClose(fd, "reset");
  keepUrgentInline(fd);
  if (keepAlive !== undefined) setKeepAlive(fd, keepAlive);
  return { port: listener.port, stop: () => listener.stop() };
}

/** The process has as many open files as it may have. */
class TooManyFiles extends Error {
  override readonly name = "TooManyFiles";
  readonly code = "EMFILE";

  constructor() {
    super("too many open files");
  }
}

let dialling = 0;

/** Whether so many more sockets can be had now. */
export function hasRoomFor(sockets: number): boolean {
  return hasDescriptors(wires.open + dialling, sockets);
}

/** Why `needed` sockets cannot be had together, whatever is open now; undefined when they can. */
export function socketShortage(needed: number): string | undefined {
  return descriptorShortage(wires.open + dialling, needed);
}

/** Connects to a numeric address. Rejects with Bun's error (`code` ECONNREFUSED and so on). The caller sets the owner at once. */
export async function connectWire(address: string, port: number): Promise<Wire> {
  // Bun would call a lack of descriptors ECONNREFUSED (measured with 1.4.5).
  if (!hasDescriptors(wires.open + dialling, 0)) throw new TooManyFiles();
  dialling += 1;
  try {
    const socket = await Bun.connect<Wire>({
      hostname: address,
      port,
      allowHalfOpen: true,
      socket: {
        ...handlers,
        open(opened) {
          opened.data = new Wire(opened);
          keepUrgentInline(opened.data.descriptor);
        },
        connectError() {},
      },
    });
    return socket.data;
  } finally {
    dialling -= 1;
  }
}
