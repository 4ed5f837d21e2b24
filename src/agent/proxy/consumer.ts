import { formatHostPort } from "../../endpoint.ts";
import type { Wire, WireOwner } from "../net/wire.ts";
import type { Pipe } from "../pipe.ts";
import type { StreamFacts } from "../streams.ts";

/** Starts of one consumer before it is given up: each cost a connection that died under it. */
const maxTries = 4;
/** Bytes that are read ahead of the start before the connection is paused; pausing costs more than a small request is worth. */
const maxEarly = 16 * 1024;
const nothing = new Uint8Array(0);

let lastId = 0;
function nextId(): number {
  lastId += 1;
  return lastId;
}

/** A consumer's connection until it is joined to a data connection. At most one read of its bytes is held meanwhile. */
export class Consumer implements WireOwner {
  readonly id = nextId();
  readonly since = performance.now();
  /** Addresses of the connection as `host:port`: the consumer's, and the one it came to. */
  from: string;
  to: string;
  #early: Uint8Array;
  #ended = false;
  #tries = 0;
  #gone: (() => void) | undefined;

  /** `early` are bytes that came from the proxy that handed the consumer over. */
  constructor(
    readonly wire: Wire,
    addresses: { from: string; to: string } = { from: formatHostPort(wire.remote), to: formatHostPort(wire.local) },
    early: Uint8Array = nothing,
    /** One that another proxy has handed over must not go further from one to the next. */
    readonly sender: "consumer" | "proxy" = "consumer",
  ) {
    this.from = addresses.from;
    this.to = addresses.to;
    this.#early = early;
    wire.owner = this;
  }

  /** What a PROXY protocol header said of the connection, if it did, and the bytes that came with it. */
  introduce(addresses: { from: string; to: string } | undefined, early: Uint8Array): void {
    if (addresses !== undefined) ({ from: this.from, to: this.to } = addresses);
    this.#early = early;
  }

  /** Milliseconds since the consumer came. */
  get age(): number {
    return performance.now() - this.since;
  }

  /** Whether one more start may be tried. */
  tryAgain(): boolean {
    this.#tries += 1;
    return this.#tries < maxTries;
  }

  /** Keeps the connection unread, so that what it sends stays where a later attempt can take it; `gone` is called when it is closed meanwhile. */
  wait(gone: () => void): void {
    this.#gone = gone;
    this.wire.owner = this;
    this.wire.pause();
  }

  /** Lets its bytes flow into the pipe, whose left side it is, after `head` for the right side. */
  join(pipe: Pipe, head: Uint8Array = nothing): void {
    const early = this.#early;
    this.#gone = undefined;
    this.#early = nothing;
    pipe.attach(pipe.forth, early, head);
    if (this.#ended) pipe.forth.ended();
  }

  received(chunk: Uint8Array): void {
    this.#early = this.#early.byteLength === 0 ? chunk : Buffer.concat([this.#early, chunk]);
    if (this.#early.byteLength > maxEarly) this.wire.pause();
  }

  drained(): void {}

  ended(): void {
    this.#ended = true;
  }

  closed(): void {
    this.#gone?.();
  }
}

export const factsOf = ({ id, from, since }: Consumer): StreamFacts => ({ stream: id, peer: from, since });
