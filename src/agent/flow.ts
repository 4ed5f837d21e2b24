import type { ByteCount } from "../metrics.ts";
import { endFlow, goOn, startFlow, stopFlow, wasRead } from "./net/bulk.ts";
import type { BulkFlow } from "./net/bulk-flow.ts";
import { type Duplex, type DuplexOwner, nothing } from "./net/duplex.ts";

/** Bytes that are held before the source is paused; pausing costs more than a small request is worth. */
const maxHeld = 16 * 1024;

/** What a flow tells its stream. */
export interface FlowOwner {
  /** The source is gone. In order, if it had ended and so had the other flow. */
  lost(flow: Flow, cause: Error | undefined): void;
  /** The flow in the other direction, once there is one. */
  other(flow: Flow): Flow | undefined;
}

/**
 * One direction of a stream, and the owner of its source. `held`: it has no sink yet, and keeps what the source brings, one read at most; `open`: what the source brings goes
 * to the sink; `ended`: so did its end. A sink that is slower than the source pauses it, so that at most one read waits in between.
 */
export class Flow implements DuplexOwner, BulkFlow {
  state: "held" | "open" | "ended" = "held";
  /** Bytes that went to the sink. */
  bytes = 0;
  /** The source is gone. */
  gone = false;
  #held: Uint8Array;
  #endIsHeld = false;
  #sink: Duplex | undefined;

  /** `early` are bytes of the source that came before. */
  constructor(
    readonly source: Duplex,
    readonly total: ByteCount,
    readonly owner: FlowOwner,
    early: Uint8Array = nothing,
  ) {
    this.#held = early;
    source.owner = this;
  }

  get sink(): Duplex {
    if (this.#sink === undefined) throw new Error("a flow that is held has no sink");
    return this.#sink;
  }

  /** Nothing of it has gone to the sink. */
  get isUntouched(): boolean {
    return this.bytes === 0 && this.state !== "ended";
  }

  /** From now on what the source brings goes to `sink`, first of all what was held. */
  open(sink: Duplex): void {
    this.#sink = sink;
    this.state = "open";
    const held = this.#held;
    this.#held = nothing;
    if (held.byteLength > 0) {
      this.count(held.byteLength);
      this.forward(held);
    }
    startFlow(this);
    if (this.#endIsHeld) this.ended();
  }

  /** Takes the sink away again; nothing has gone to it. */
  hold(): void {
    stopFlow(this);
    this.#sink = undefined;
    this.state = "held";
    this.source.pause();
  }

  received(chunk: Uint8Array): void {
    if (this.state === "held") {
      this.#held = this.#held.byteLength === 0 ? chunk : Buffer.concat([this.#held, chunk]);
      if (this.#held.byteLength > maxHeld) this.source.pause();
      return;
    }
    this.count(chunk.byteLength);
    this.forward(chunk);
    wasRead(this, chunk.byteLength);
  }

  count(bytes: number): void {
    this.bytes += bytes;
    this.total.bytes += bytes;
  }

  forward(bytes: Uint8Array): void {
    if (!this.sink.write(bytes)) this.source.pause();
  }

  /** The source took what the other flow wrote to it: that one may go on. */
  drained(): void {
    const other = this.owner.other(this);
    if (other !== undefined) goOn(other);
  }

  ended(): void {
    if (this.state === "held") {
      this.#endIsHeld = true;
      return;
    }
    this.state = "ended";
    this.sink.finish();
  }

  fail(cause: unknown): void {
    this.owner.lost(this, cause instanceof Error ? cause : new Error(String(cause)));
  }

  /** The stream is over. */
  end(): void {
    endFlow(this);
    this.source.reset();
  }

  closed(cause: Error | undefined): void {
    this.gone = true;
    endFlow(this);
    this.owner.lost(this, cause);
  }
}
