import { formatHostPort } from "../../endpoint.ts";
import { Deadlines } from "../deadlines.ts";
import { type DuplexOwner, nobody } from "../net/duplex.ts";
import { unknownHost } from "../net/socket-address.ts";
import type { Wire } from "../net/wire.ts";
import { ProxyHeaderError, parseProxyHeader } from "../protocol/proxy-header.ts";

/** Milliseconds until the header must be there: load balancers send it with the first packet. */
const headerTimeout = 3000;
/** Milliseconds that a load balancer's own connection has to leave again before it is served: one that only checks the port does so at once. */
const checkTimeout = 50;
const nothing = new Uint8Array(0);

export interface HeaderTaker {
  /** `addresses` are the header's, if it has any; `early` came behind it. The wire is the taker's again. */
  read(addresses: { from: string; to: string } | undefined, early: Uint8Array): void;
  failed(reason: string): void;
}

/**
 * Owns a consumer's wire until its PROXY protocol header is complete. Connections that carry nothing but a check end here: nobody wanted a
 * stream, so none has failed. They are those that leave without a byte, and those that leave after a header in which the load balancer
 * speaks for itself (LOCAL, UNKNOWN, or the addresses of this very connection, as version 1 recommends for checks).
 */
class HeaderReader implements DuplexOwner {
  /** The beginning of the header, until its addresses can be read. */
  #head: Uint8Array = nothing;
  #addresses: { from: string; to: string } | undefined;
  /** The peer, which is not known any more once it has closed. */
  readonly #from: string;
  /** Bytes of the header that are still to come; unknown before its addresses. */
  #left: number | undefined;

  constructor(
    readonly wire: Wire,
    readonly taker: HeaderTaker,
  ) {
    this.#from = formatHostPort(wire.remote);
    wire.owner = this;
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
    // The peer of a connection that was reset before it was accepted is not known any more.
    return (
      this.#addresses === undefined || this.#addresses.from === this.#from || this.wire.remote.host === unknownHost
    );
  }

  /** `early` came after the header. */
  finish(early: Uint8Array): void {
    this.#release();
    this.taker.read(this.#addresses, early);
  }

  fail(reason: string): void {
    this.#release();
    this.taker.failed(reason);
  }

  #release(): void {
    unread.delete(this);
    undecided.delete(this);
    this.wire.owner = nobody;
  }

  /** Whether a connection that ends now was only a check. */
  get #isCheck(): boolean {
    return undecided.has(this) || (this.#left === undefined && this.#head.byteLength === 0);
  }

  drained(): void {}

  ended(): void {
    if (this.#isCheck) {
      this.#release();
      this.wire.finish();
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

export function readProxyHeader(wire: Wire, taker: HeaderTaker): void {
  new HeaderReader(wire, taker);
}
