import { formatHostPort } from "../endpoint.ts";
import type { Wire, WireOwner } from "./wire.ts";

/** Starts of one consumer before it is given up: each cost a connection that died under it. */
const maxTries = 4;

let lastId = 0;
function nextId(): number {
  lastId += 1;
  return lastId;
}

/**
 * A consumer's connection until it is joined to a data connection. It is not read meanwhile, so that its bytes stay where a later
 * attempt can still take them; only its disappearance is noticed.
 */
export class Consumer implements WireOwner {
  readonly id = nextId();
  readonly since = performance.now();
  /** Addresses of the connection as `host:port`: the consumer's, and the one it came to. */
  readonly from: string;
  readonly to: string;
  /** Bytes that were read with a PROXY protocol header. */
  early: Uint8Array;
  #tries = 0;
  #gone: (() => void) | undefined;

  constructor(
    readonly wire: Wire,
    addresses: { from: string; to: string } = { from: formatHostPort(wire.remote), to: formatHostPort(wire.local) },
    early: Uint8Array = new Uint8Array(0),
  ) {
    this.from = addresses.from;
    this.to = addresses.to;
    this.early = early;
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

  /** Keeps the connection unread; `gone` is called when it is closed meanwhile. */
  wait(gone: () => void): void {
    this.#gone = gone;
    this.wire.owner = this;
    this.wire.pause();
  }

  /** The consumer is about to be joined: whoever calls owns the wire now and resumes it. */
  leave(): void {
    this.#gone = undefined;
  }

  received(chunk: Uint8Array): void {
    // Only a connection that is being reset delivers bytes while paused.
    this.early = Buffer.concat([this.early, chunk]);
  }

  drained(): void {}

  ended(): void {}

  closed(): void {
    this.#gone?.();
  }
}
