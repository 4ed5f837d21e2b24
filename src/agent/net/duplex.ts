import type { Wire } from "./wire.ts";

/** What one end of a stream tells whoever owns it at the moment, from the event loop. */
export interface DuplexOwner {
  /** Bytes arrived. They belong to the callee. */
  received(chunk: Uint8Array): void;
  /** Everything that `write` had to keep is in the kernel's hands now. */
  drained(): void;
  /** No more bytes will come; the other direction stays open. */
  ended(): void;
  /** It is gone: without a cause after an orderly end of both directions, with one after a reset or a timeout. */
  closed(cause: Error | undefined): void;
}

/** One end of a stream: bytes both ways, and each direction has an end of its own. A socket is one; so is a stream's part of a data connection. */
export interface Duplex {
  owner: DuplexOwner;
  readonly open: boolean;
  /** Takes bytes: nothing waits, and its end has not been said. */
  readonly isClear: boolean;
  /** Sockets that the kernel may move bytes from and to as they are; undefined while they are framed or encrypted. */
  readonly rawSource: Wire | undefined;
  readonly rawSink: Wire | undefined;
  /** Makes a raw sink of it if that is possible: much is to come. */
  turnRaw(): void;
  /** Writes all of `chunk`, now or later; swallows it when closed. False when a part has to wait for `drained`: the caller then pauses its source. */
  write(chunk: Uint8Array): boolean;
  pause(): void;
  resume(): void;
  /** From now on the death of this process is a reset, until the end has been said. */
  carryStream(): void;
  /** Says after everything written that no more bytes will come. Reading goes on. */
  finish(): void;
  /** Ends both directions at once; the owner hears nothing more. */
  reset(): void;
}

export const nobody: DuplexOwner = { received() {}, drained() {}, ended() {}, closed() {} };
export const nothing = new Uint8Array(0);
