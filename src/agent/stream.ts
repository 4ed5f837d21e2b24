import type { StreamResult } from "../metrics.ts";
import { Flow, type FlowOwner } from "./flow.ts";
import { type Duplex, nobody, nothing } from "./net/duplex.ts";
import type { Streams } from "./streams.ts";

/** A stream did not come about or was cut by this program; `result` says in one word why. */
export class StreamError extends Error {
  override readonly name = "StreamError";

  constructor(
    readonly result: StreamResult,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** One of its ends was closed before both directions had ended, and the system named no error. */
class ClosedEarly extends Error {
  override readonly name = "ClosedEarly";

  constructor() {
    super("closed before the stream's end");
  }
}

/** Whoever brings a stream to its backend. */
export interface StreamHolder {
  /** The stream is over, whatever became of it. */
  ended(stream: Stream): void;
}

export interface StreamOrigin {
  /** The consumer's connection, `host:port`: its own end and the one it came to; absent when nobody said. */
  from: string | undefined;
  to: string | undefined;
  /** Bytes that have come already. */
  early?: Uint8Array;
  /** `performance.now()` at its arrival; absent: it comes now. */
  since?: number;
  /** Another proxy has handed it over, and it must not go further from one to the next. */
  isHandedOver?: boolean;
}

/** How a stream ended. */
export interface StreamEnd {
  /** Absent when both directions ended in order. */
  cause: Error | undefined;
  /** The end that the cause came from: left is the consumer's. */
  side: "left" | "right";
}

let lastId = 0;

/**
 * One consumer's connection from its arrival to its end: its left end is there from the beginning and is held, its right end is joined to it when there is one. From then on bytes
 * flow both ways; a reset of one end resets the other.
 */
export class Stream implements FlowOwner {
  readonly id: number;
  /** `performance.now()` at its arrival. */
  readonly since: number;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly isHandedOver: boolean;
  /** From left to right. */
  readonly forth: Flow;
  /** From right to left, once it is joined. */
  back: Flow | undefined;
  holder: StreamHolder | undefined;
  isOver = false;
  /** Starts that were lost. */
  lostStarts = 0;
  #streams: Streams;

  constructor(streams: Streams, left: Duplex, origin: StreamOrigin) {
    const { from, to, early = nothing, since = performance.now(), isHandedOver = false } = origin;
    lastId += 1;
    this.id = lastId;
    this.since = since;
    this.from = from;
    this.to = to;
    this.isHandedOver = isHandedOver;
    this.#streams = streams;
    this.forth = new Flow(left, streams.totals.forth, this, early);
    streams.add(this);
  }

  get left(): Duplex {
    return this.forth.source;
  }

  /** Milliseconds since it came. */
  get age(): number {
    return performance.now() - this.since;
  }

  /** Keeps the left end unread, so that what it sends stays where a later attempt can take it. */
  wait(holder: StreamHolder): void {
    this.holder = holder;
    this.left.pause();
  }

  /** Joins the right end; `first` are bytes of it that have come already. */
  join(right: Duplex, first: Uint8Array = nothing): void {
    this.left.carryStream();
    right.carryStream();
    this.back = new Flow(right, this.#streams.totals.back, this, first);
    this.back.open(this.left);
    this.forth.open(right);
  }

  /** Lets go of a right end to which nothing has gone yet: another one will be tried. */
  leave(): void {
    const { back } = this;
    if (back === undefined) return;
    back.source.owner = nobody;
    back.hold();
    this.back = undefined;
    this.forth.hold();
    this.holder = undefined;
  }

  /** Resets it: it could not be served, or is cut here. */
  fail(cause: StreamError): void {
    this.#end(cause, "right");
  }

  other(flow: Flow): Flow | undefined {
    return flow === this.forth ? this.back : this.forth;
  }

  lost(flow: Flow, cause: Error | undefined): void {
    const { back, forth } = this;
    const side = flow === forth ? "left" : "right";
    if (back === undefined) this.#end(new StreamError("reset", "the consumer left before its start"), side);
    else if (cause !== undefined) this.#end(cause, side);
    else if (forth.state !== "ended" || back.state !== "ended") this.#end(new ClosedEarly(), side);
    else if (forth.gone && back.gone) this.#end(undefined, side);
  }

  #end(cause: Error | undefined, side: StreamEnd["side"]): void {
    if (this.isOver) return;
    this.isOver = true;
    this.forth.end();
    this.back?.end();
    this.#streams.ended(this, { cause, side });
    this.holder?.ended(this);
  }
}
