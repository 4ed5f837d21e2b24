import { sendBufferOf } from "./socket-options.ts";

/**
 * A send buffer smaller than this is as small as when the connection began, or as the kernel makes it when memory is short. It takes a segment
 * whenever it is empty, and grows only once it has been overfilled: so that is tried once. What does not fit has to be kept by this process.
 */
export const smallBuffer = 128 * 1024;
export const segment = 32 * 1024;

/** Bytes that all bulk flows together may move at once, and one of them at least: what a socket does not take after all has to be kept, too. */
const shared = 16 * 1024 * 1024;
const leastShare = 32 * 1024;
/** Bytes that are read and kept for a full socket: Bun's write of them meets the full buffer, and Bun tells when there is room. */
const token = 4 * 1024;

/** Bytes that are read at once for a sink that the kernel cannot move to: with its header at most one write, one record of TLS at least, and of all together so many. */
const pieces = { most: 60 * 1024, least: 16 * 1024, ofAll: 4 * 1024 * 1024 };

/** Bytes to read at once for such a sink, of which it may take nothing; `flows` as for `appetiteOf`. */
export const pieceOf = (flows: number): number =>
  Math.max(pieces.least, Math.min(pieces.most, Math.floor(pieces.ofAll / flows)));

/** What a socket takes now. */
export interface Appetite {
  /** Bytes to move to it. */
  bytes: number;
  /** As the kernel defines writable: less room than that is not worth a move. */
  writable: boolean;
}

/** `attempt`: bytes to try a small and empty send buffer with; `flows`: bulk flows that share the bound of what is moved. */
export function appetiteOf(fd: number, attempt: number, flows: number): Appetite {
  const { queued, room } = sendBufferOf(fd);
  const wanted = queued === 0 && room > 0 && room < smallBuffer ? Math.max(room, attempt) : room;
  const share = Math.max(leastShare, Math.floor(shared / flows));
  return { bytes: Math.max(token, Math.min(wanted, share)), writable: room >= queued / 2 };
}
