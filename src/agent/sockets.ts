import type { HostPort } from "../endpoint.ts";
import { dials } from "./connect.ts";
import { hasDescriptors } from "./descriptors.ts";
import { setKeepAlive, setResetOnClose } from "./socket-options.ts";
import { Wire, wires } from "./wire.ts";
import { wireHandlers } from "./wire-handlers.ts";

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
      ...wireHandlers,
      open(socket) {
        const wire = new Wire(socket, "reset");
        socket.data = wire;
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
  // Accepted sockets inherit these, which saves calls for each. A limit of the receive buffer must not be given in this way:
  // the window's scale would follow from it, and the connection could never become fast.
  setResetOnClose(fd, "reset");
  if (keepAlive !== undefined) setKeepAlive(fd, keepAlive);
  return { port: listener.port, stop: () => listener.stop() };
}
