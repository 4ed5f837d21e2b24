import type { SocketHandler } from "bun";
import { errorCode } from "../../errors.ts";
import type { HandshakeReport } from "./tls.ts";

/** What a socket reports, to whatever is its `data`. */
export interface SocketEvents {
  onData(chunk: Uint8Array): void;
  onDrain(): void;
  onEnd(): void;
  onClose(cause: Error | undefined): void;
  /** TLS is there, or will not be. */
  onHandshake(report: HandshakeReport): void;
  /** What came is no TLS, or the peer says so of what we sent. */
  onBroken(cause: Error): void;
}

/**
 * The callbacks that all wires share. A connection that was made by this process gets its wire when it is connected; one that is reset before
 * Bun looks at it again reports what it still had to say without ever being that, and then its close.
 */
export const wireHandlers: SocketHandler<SocketEvents> = {
  data: (socket, chunk) => socket.data?.onData(chunk),
  drain: (socket) => socket.data?.onDrain(),
  end: (socket) => socket.data?.onEnd(),
  close: (socket, cause) => socket.data?.onClose(cause),
  // Bun reports an exception of a callback here: a defect of ours, and as an uncaught one it ends the process.
  error: (_socket, cause) => reportError(cause),
};

/** Those of wires under TLS, where Bun reports there too that what came is no TLS: whoever stands between the two ends can cause that. */
export const tlsHandlers: SocketHandler<SocketEvents> = {
  ...wireHandlers,
  handshake: (socket, success, cause) => socket.data.onHandshake({ success, cause }),
  error: (socket, cause) => {
    if (errorCode(cause) === "EPROTO") socket.data.onBroken(cause);
    else reportError(cause);
  },
};

/** What stands for a socket under TLS reports ciphertext, and once more what the TLS socket does. */
export const deaf: SocketEvents = {
  onData() {},
  onDrain() {},
  onEnd() {},
  onClose() {},
  onHandshake() {},
  onBroken() {},
};
