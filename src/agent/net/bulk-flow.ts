import { smallBuffer } from "./appetite.ts";
import type { Duplex } from "./duplex.ts";
import type { Ends } from "./watch-list.ts";

/** One direction of a stream, as far as moving its bytes needs to know it. */
export interface BulkFlow {
  readonly source: Duplex;
  readonly sink: Duplex;
  /** So many bytes were taken from the source. */
  count(bytes: number): void;
  /** These are some of them: the sink did not take them yet. */
  forward(bytes: Uint8Array): void;
  /** Moving its bytes has failed: its stream is to be reset. */
  fail(cause: unknown): void;
}

/** What is known of a bulk flow. */
export class Place {
  /** Bytes that a small and empty send buffer is tried with. */
  attempt = smallBuffer;
  /** `performance.now()` and the number of turns at its last move. */
  since = 0;
  turns = 0;
  /** Descriptors of its wires while they are watched; Bun does not read the source then. */
  watched: Ends | undefined;
  /** The source has ended or failed: Bun has to report it once no bytes are left. */
  ended = false;
  /** Waits until the watched sink has room. */
  full = false;
}
