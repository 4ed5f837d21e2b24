import type { ByteCount } from "../metrics.ts";
import { type BulkFlow, endFlow, goOn, startFlow, stopFlow, wasRead } from "./net/bulk.ts";
import type { Wire, WireOwner } from "./net/wire.ts";

/** A wire was closed before both of its directions had ended, and the system named no error. */
class ClosedEarly extends Error {
  override readonly name = "ClosedEarly";

  constructor() {
    super("closed before the stream's end");
  }
}

/**
 * One direction of a stream, and the owner of its source: what the source receives goes to the sink. FIN is passed on as FIN after
 * all bytes. A sink that is slower than the source pauses it, so that at most one read waits in between.
 */
export class Flow implements WireOwner, BulkFlow {
  bytes = 0;
  /** The source has sent FIN. */
  finished = false;
  /** The source's socket is gone. */
  gone = false;
  #pipe: Pipe;

  constructor(
    readonly source: Wire,
    readonly sink: Wire,
    readonly total: ByteCount,
    pipe: Pipe,
  ) {
    this.#pipe = pipe;
  }

  received(chunk: Uint8Array): void {
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

  /** The source's socket took what the other flow wrote to it: that flow may go on. */
  drained(): void {
    goOn(this.#pipe.other(this));
  }

  ended(): void {
    this.finished = true;
    this.sink.finish();
  }

  fail(cause: unknown): void {
    this.#pipe.lost(this, cause instanceof Error ? cause : new Error(String(cause)));
  }

  /** The stream is over. */
  end(): void {
    endFlow(this);
    this.source.reset();
  }

  closed(cause: Error | undefined): void {
    this.gone = true;
    endFlow(this);
    this.#pipe.lost(this, cause);
  }
}

/** How a stream ended. */
export interface PipeEnd {
  /** Absent when both directions ended with FIN. */
  cause: Error | undefined;
  /** The wire that the cause came from. */
  side: "left" | "right";
}

/**
 * Two wires joined to one stream, left to right and back. Neither flow runs before its `attach`. A reset of one wire resets the other;
 * `done` is called once, when the stream is over.
 */
export class Pipe {
  readonly forth: Flow;
  readonly back: Flow;
  #done: ((end: PipeEnd) => void) | undefined;

  constructor(left: Wire, right: Wire, totals: { forth: ByteCount; back: ByteCount }, done: (end: PipeEnd) => void) {
    this.forth = new Flow(left, right, totals.forth, this);
    this.back = new Flow(right, left, totals.back, this);
    this.#done = done;
    left.carryStream();
    right.carryStream();
  }

  /**
   * Starts a flow: from now on it owns its source, paused or not. `first` are bytes of the stream that were read before; `head`, which is none of them,
   * goes out in front, in the same write.
   */
  attach(flow: Flow, first: Uint8Array, head: Uint8Array = first.subarray(0, 0)): void {
    flow.source.owner = flow;
    flow.count(first.byteLength);
    const bytes = head.byteLength === 0 ? first : first.byteLength === 0 ? head : Buffer.concat([head, first]);
    if (bytes.byteLength > 0) flow.forward(bytes);
    startFlow(flow);
  }

  other(flow: Flow): Flow {
    return flow === this.forth ? this.back : this.forth;
  }

  /** Forgets both wires without touching them: somebody else owns them from now on. */
  abandon(): void {
    this.#done = undefined;
    stopFlow(this.forth);
    stopFlow(this.back);
  }

  /** Resets what is left of both wires. */
  reset(cause: Error): void {
    this.#end(cause, "left");
  }

  /** The socket of `flow.source` is gone. In order, if it had sent its FIN and had been sent the other flow's. */
  lost(flow: Flow, cause: Error | undefined): void {
    const other = this.other(flow);
    const side = flow === this.forth ? "left" : "right";
    if (cause !== undefined) this.#end(cause, side);
    else if (!flow.finished || !other.finished) this.#end(new ClosedEarly(), side);
    else if (other.gone) this.#end(undefined, side);
  }

  #end(cause: Error | undefined, side: PipeEnd["side"]): void {
    const done = this.#done;
    if (done === undefined) return;
    this.#done = undefined;
    this.forth.end();
    this.back.end();
    done({ cause, side });
  }
}
