import type { SocketHandler } from "bun";
import type { Wire } from "./wire.ts";

/** The callbacks that all wires share; `socket.data` is set before any of them can come. */
export const wireHandlers: SocketHandler<Wire> = {
  data: (socket, chunk) => socket.data.owner.received(chunk),
  drain: (socket) => socket.data?.onDrain(),
  end: (socket) => socket.data.onEnd(),
  close: (socket, cause) => socket.data?.onClose(cause),
  // Bun reports an exception of a callback here: a defect of ours, and as an uncaught one it ends the process.
  error: (_socket, cause) => reportError(cause),
};
