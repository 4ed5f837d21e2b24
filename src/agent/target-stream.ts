import type { Backend } from "./backend.ts";
import { StreamError, type Streams } from "./streams.ts";
import type { Wire, WireOwner } from "./wire.ts";

let lastId = 0;

/** A consumer's request as it reaches a target. */
export interface StreamRequest {
  /** Connection to the proxy; it carries nothing but this stream from now on. */
  wire: Wire;
  /** Bytes of the stream that were read already. */
  firstBytes: Uint8Array;
  /** The consumer's connection, `host:port`; absent when the proxy did not say. */
  from: string | undefined;
  to: string | undefined;
  /** The backend is connected: tell the proxy, before any byte of the backend. */
  connected(wire: Wire): void;
  /** The backend is not connected: tell the proxy and let go of the wire. */
  failed(wire: Wire, cause: StreamError): void;
  /** The stream is over, however it went. */
  over(): void;
}

/** Owns the wire to the proxy while the backend is being dialled. The wire is paused: its bytes wait in the kernel. */
class Dialling implements WireOwner {
  #early: Uint8Array;
  gone = false;

  constructor(early: Uint8Array) {
    this.#early = early;
  }

  received(chunk: Uint8Array): void {
    // Only a connection that is being reset delivers bytes while paused.
    this.#early = Buffer.concat([this.#early, chunk]);
  }

  drained(): void {}

  ended(): void {}

  closed(): void {
    this.gone = true;
  }

  get early(): Uint8Array {
    return this.#early;
  }
}

/** Connects the backend for one consumer and joins both. */
export async function serveStream(request: StreamRequest, backend: Backend, streams: Streams): Promise<void> {
  const { wire, from, to, over } = request;
  lastId += 1;
  const facts = { stream: lastId, peer: from, since: performance.now() };
  const dialling = new Dialling(request.firstBytes);
  wire.owner = dialling;
  wire.pause();
  let right: Wire;
  try {
    right = await backend.connect(from, to);
  } catch (cause) {
    if (!(cause instanceof StreamError)) throw cause;
    streams.failed(facts, cause);
    if (!dialling.gone) request.failed(wire, cause);
    over();
    return;
  }
  if (dialling.gone) {
    right.reset();
    streams.failed(facts, new StreamError("reset", "the consumer left before its start"));
    over();
    return;
  }
  const pipe = streams.open(wire, right, facts, over);
  request.connected(wire);
  pipe.attach(pipe.back, new Uint8Array(0));
  pipe.attach(pipe.forth, dialling.early);
  wire.resume();
}
