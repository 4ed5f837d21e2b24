import type { Wire, WireOwner } from "../net/wire.ts";
import type { Pipe } from "../pipe.ts";
import { StreamError, type Streams } from "../streams.ts";
import type { Backend } from "./backend.ts";

/** Bytes that are read while the backend is dialled, before the connection is paused. */
const maxEarly = 16 * 1024;

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
  /** The backend is connected: tell the proxy, before any byte of the backend, and attach the pipe's flow back. */
  connected(pipe: Pipe): void;
  /** The backend is not connected: tell the proxy and let go of the wire. */
  failed(wire: Wire, cause: StreamError): void;
  /** The stream is over, however it went. */
  over(): void;
}

/** Owns the wire to the proxy while the backend is being dialled. At most one read of its bytes is held meanwhile. */
class Dialling implements WireOwner {
  early: Uint8Array;
  finished = false;
  gone = false;

  constructor(
    readonly wire: Wire,
    early: Uint8Array,
  ) {
    this.early = early;
    wire.owner = this;
  }

  received(chunk: Uint8Array): void {
    this.early = this.early.byteLength === 0 ? chunk : Buffer.concat([this.early, chunk]);
    if (this.early.byteLength > maxEarly) this.wire.pause();
  }

  drained(): void {}

  ended(): void {
    this.finished = true;
  }

  closed(): void {
    this.gone = true;
  }
}

/** Connects the backend for one consumer and joins both. */
export async function serveStream(request: StreamRequest, backend: Backend, streams: Streams): Promise<void> {
  const { wire, from, to, over } = request;
  lastId += 1;
  const facts = { stream: lastId, peer: from, since: performance.now() };
  streams.expect(lastId);
  const dialling = new Dialling(wire, request.firstBytes);
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
  request.connected(pipe);
  pipe.attach(pipe.forth, dialling.early);
  if (dialling.finished) pipe.forth.ended();
}
