import type { SocketHandler } from "bun";
import type { Wire } from "./wire.ts";

/**
 * The callbacks that all wires share. A connection that was made by this process gets its wire when it is connected; one that is reset before
 * Bun looks at it again reports what it still had to say without ever being that, and then its close.
 */
export const wireHandlers: SocketHandler<Wire> = {
  data: (socket, chunk) => socket.data?.owner.received(chunk),
  drain: (socket) => socket.data?.onDrain(),
  end: (socket) => socket.data?.onEnd(),
  close: (socket, cause) => socket.data?.onClose(cause),
  // Bun reports an exception of a callback here: a defect of ours, and as an uncaught one it ends the process.
  error: (_socket, cause) => reportError(cause),
};
