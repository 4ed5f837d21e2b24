import { Deadlines } from "./deadlines.ts";
import { ProxyHeaderError, parseProxyHeader } from "./proxy-header.ts";
import type { Wire, WireOwner } from "./wire.ts";

/** Milliseconds until the header must be there: load balancers send it with the first packet. */
const headerTimeout = 3000;

export interface HeaderTaker {
  /** `addresses` is absent when the sender does not know them; `early` came after the header. */
  read(addresses: { from: string; to: string } | undefined, early: Uint8Array): void;
  failed(reason: string): void;
}

/** Owns a consumer's wire until its PROXY protocol header is complete. */
class HeaderReader implements WireOwner {
  #bytes: Uint8Array = new Uint8Array(0);

  constructor(
    readonly wire: Wire,
    readonly taker: HeaderTaker,
  ) {
    wire.owner = this;
    readers.add(this);
  }

  received(chunk: Uint8Array): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    try {
      const header = parseProxyHeader(this.#bytes);
      if (header === undefined) return;
      readers.delete(this);
      this.taker.read(header.addresses, this.#bytes.subarray(header.length));
    } catch (error) {
      if (!(error instanceof ProxyHeaderError)) throw error;
      this.fail(error.message);
    }
  }

  fail(reason: string): void {
    readers.delete(this);
    this.taker.failed(reason);
  }

  drained(): void {}

  ended(): void {
    this.fail("the connection ended inside its PROXY protocol header");
  }

  closed(): void {
    this.fail("the connection was closed inside its PROXY protocol header");
  }
}

const readers = new Deadlines<HeaderReader>(headerTimeout, (reader) =>
  reader.fail("no PROXY protocol header came in time"),
);

export function readProxyHeader(wire: Wire, taker: HeaderTaker): void {
  new HeaderReader(wire, taker);
}
