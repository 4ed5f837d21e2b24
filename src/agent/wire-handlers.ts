import type { SocketHandler } from "bun";
import type { Wire } from "./wire.ts";

/** The callbacks that all wires share; `socket.data` is set before any of them can come. */
export const wireHandlers: SocketHandler<Wire> = {
  data: (socket, chunk) => socket.data.owner.received(chunk),
  drain: (socket) => socket.data?.onDrain(),
  end: (socket) => socket.data.onEnd(),
  close: (socket, cause) => socket.data?.onClose(cause),
  error: (socket, cause) => {
    // Bun reports an exception of a callback here: a defect of ours, to be seen. This connection is of no use any more, the others are.
    reportError(cause);
    socket.terminate();
    socket.data?.onClose(cause);
  },
};
