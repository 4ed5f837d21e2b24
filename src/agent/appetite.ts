import { sendBufferOf } from "./socket-options.ts";

/**
 * A send buffer smaller than this is as small as when the connection began, or as the kernel makes it when memory is short. It takes a segment
 * whenever it is empty, and grows only once it has been overfilled: so that is tried once. What does not fit has to be kept by this process.
 */
export const smallBuffer = 128 * 1024;
export const segment = 32 * 1024;

/** What a socket takes now. */
export interface Appetite {
  /** Bytes; 0 when the buffer is full, or its size unknown. */
  bytes: number;
  /** As the kernel defines writable: less room than that is not worth a move. */
  writable: boolean;
}

/** `attempt`: bytes to try a small and empty send buffer with. */
export function appetiteOf(fd: number, attempt: number): Appetite {
  const { queued, room } = sendBufferOf(fd);
  const bytes = queued === 0 && room > 0 && room < smallBuffer ? Math.max(room, attempt) : room;
  return { bytes, writable: room >= queued / 2 };
}
