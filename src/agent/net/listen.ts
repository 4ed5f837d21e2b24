import type { HostPort } from "../../endpoint.ts";
import { dials } from "./connect.ts";
import { descriptorShortage, hasDescriptors } from "./descriptors.ts";
import { libc } from "./libc.ts";
import { keepUrgentInline, setKeepAlive, setResetOnClose } from "./socket-options.ts";
import { Wire, wires } from "./wire.ts";
import { type SocketEvents, wireHandlers } from "./wire-handlers.ts";

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
  const listener = Bun.listen<SocketEvents>({
    hostname: at.host,
    port: at.port,
    exclusive: true,
    allowHalfOpen: true,
    socket: {
      ...wireHandlers,
      open(socket) {
        const wire = new Wire(socket, "reset");
        socket.data = wire;
        // Where the listener could not be given it, for lack of the system's library, each socket needs a call of Bun's.
        if (libc === undefined && keepAlive !== undefined) wire.keepAlive(keepAlive);
        // Bun spins on EMFILE and tells nobody (measured with 1.4.5), so the limit must not be reached.
        if (hasDescriptors(wires.open + dials.inProgress, spareDescriptors())) accept(wire);
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

/** Whether so many more sockets can be had now. */
export function hasRoomFor(sockets: number): boolean {
  return hasDescriptors(wires.open + dials.inProgress, sockets);
}

/** Why `needed` sockets cannot be had together, whatever is open now; undefined when they can. */
export function socketShortage(needed: number): string | undefined {
  return descriptorShortage(wires.open + dials.inProgress, needed);
}
