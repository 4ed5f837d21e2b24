import { Deadlines } from "../deadlines.ts";
import { unknownHost } from "../net/socket-address.ts";
import type { WireOwner } from "../net/wire.ts";
import { ProxyHeaderError, parseProxyHeader } from "../protocol/proxy-header.ts";
import type { Consumer } from "./consumer.ts";

/** Milliseconds until the header must be there: load balancers send it with the first packet. */
const headerTimeout = 3000;
/** Milliseconds that a load balancer's own connection has to leave again before it is served: one that only checks the port does so at once. */
const checkTimeout = 50;
const nothing = new Uint8Array(0);

export interface HeaderTaker {
  /** The consumer has the header's addresses and owns its wire again. */
  read(): void;
  failed(reason: string): void;
}

/**
 * Owns a consumer's wire until its PROXY protocol header is complete. Connections that carry nothing but a check end here: nobody wanted a
 * stream, so none has failed. They are those that leave without a byte, and those that leave after a header in which the load balancer
 * speaks for itself (LOCAL, UNKNOWN, or the addresses of this very connection, as version 1 recommends for checks).
 */
class HeaderReader implements WireOwner {
  /** The beginning of the header, until its addresses can be read. */
  #head: Uint8Array = nothing;
  #addresses: { from: string; to: string } | undefined;
  /** Bytes of the header that are still to come; unknown before its addresses. */
  #left: number | undefined;

  constructor(
    readonly consumer: Consumer,
    readonly taker: HeaderTaker,
  ) {
    consumer.wire.owner = this;
    unread.add(this);
  }

  received(chunk: Uint8Array): void {
    try {
      const rest = this.#left === undefined ? this.#begin(chunk) : chunk;
      if (this.#left !== undefined) this.#skip(this.#left, rest);
    } catch (error) {
      if (!(error instanceof ProxyHeaderError)) throw error;
      this.fail(error.message);
    }
  }

  #begin(chunk: Uint8Array): Uint8Array {
    const bytes = this.#head.byteLength === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    const header = parseProxyHeader(bytes);
    this.#head = header === undefined ? bytes : nothing;
    this.#addresses = header?.addresses;
    this.#left = header?.length;
    return bytes;
  }

  /** What a header has behind its addresses is counted and not kept. */
  #skip(left: number, bytes: Uint8Array): void {
    this.#left = Math.max(0, left - bytes.byteLength);
    if (this.#left > 0) return;
    const early = bytes.subarray(left);
    unread.delete(this);
    if (early.byteLength === 0 && this.#speaksForItself) undecided.add(this);
    else this.finish(early);
  }

  get #speaksForItself(): boolean {
    const { from, wire } = this.consumer;
    // The peer of a connection that was reset before it was accepted is not known any more.
    return this.#addresses === undefined || this.#addresses.from === from || wire.remote.host === unknownHost;
  }

  /** `early` came after the header. */
  finish(early: Uint8Array): void {
    this.#release();
    this.consumer.introduce(this.#addresses, early);
    this.taker.read();
  }

  fail(reason: string): void {
    this.#release();
    this.taker.failed(reason);
  }

  #release(): void {
    unread.delete(this);
    undecided.delete(this);
    this.consumer.wire.owner = this.consumer;
  }

  /** Whether a connection that ends now was only a check. */
  get #isCheck(): boolean {
    return undecided.has(this) || (this.#left === undefined && this.#head.byteLength === 0);
  }

  drained(): void {}

  ended(): void {
    if (this.#isCheck) {
      this.#release();
      this.consumer.wire.finish();
    } else this.fail("the connection ended inside its PROXY protocol header");
  }

  closed(): void {
    if (this.#isCheck) this.#release();
    else this.fail("the connection was closed inside its PROXY protocol header");
  }
}

const unread = new Deadlines<HeaderReader>(headerTimeout, (reader) =>
  reader.fail("no PROXY protocol header came in time"),
);
const undecided = new Deadlines<HeaderReader>(checkTimeout, (reader) => reader.finish(nothing));

export function readProxyHeader(consumer: Consumer, taker: HeaderTaker): void {
  new HeaderReader(consumer, taker);
}
