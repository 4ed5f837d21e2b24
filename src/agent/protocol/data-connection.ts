import { timingSafeEqual } from "node:crypto";
import { Deadlines } from "../deadlines.ts";
import type { DuplexOwner } from "../net/duplex.ts";
import { sendBufferOf } from "../net/socket-options.ts";
import type { Wire } from "../net/wire.ts";
import { type Carrier, Channel, StreamCut } from "./channel.ts";
import { type FrameHandler, FrameReader } from "./frame-reader.ts";
import { frameType, numberFrame, numberIn, type Refusal, refusalIn, startFrame, startIn } from "./frames.ts";
import { encode, type Message, ProtocolError } from "./messages.ts";
import { matches, toHex } from "./proofs.ts";

/** Milliseconds that a peer has for closing its side of a connection that was closed here. */
const closeTimeout = 3000;

/** What a data connection tells the session that it belongs to. */
export interface DataConnectionOwner {
  /** The peer showed that it is there, while no stream ran. */
  heard(connection: DataConnection): void;
  /** Target: a consumer has come. */
  start(connection: DataConnection, channel: Channel, consumer: { from: string; to: string }): void;
  /** Proxy: the backend is connected. */
  started(channel: Channel): void;
  /** Proxy: it is not. */
  refused(channel: Channel, refusal: Refusal): void;
  /** The stream is over, and the next one may come. */
  free(connection: DataConnection): void;
  /** The connection is gone; `channel` had been started and got no answer. */
  lost(connection: DataConnection, cause: Error, channel: Channel | undefined): void;
  /** Target: the proxy said something else, which only a stranger to the session says. */
  stray(connection: DataConnection, message: Message): void;
}

/** A connection that a target opened ahead of need. It carries one stream after another, never two at once. */
export class DataConnection implements Carrier, DuplexOwner, FrameHandler {
  /** `performance.now()` of the last sign of life. */
  lastHeard = performance.now();
  /** Has to answer a ping before it is used. */
  #doubted = false;
  #channel: Channel | undefined;
  #streams = 0;
  #reader = new FrameReader(this);
  #isGone = false;

  constructor(
    readonly wire: Wire,
    readonly revision: 1 | 2,
    /** Shows that it is the proxy of the session who uses this connection, for the stream of this number. */
    readonly proofOf: (stream: number) => Uint8Array,
    readonly owner: DataConnectionOwner,
  ) {
    wire.owner = this;
    wire.carryStream();
  }

  /** Whether it may be used without asking: it has been heard of since then, and nothing speaks against it. */
  isFresh(since: number): boolean {
    return this.lastHeard >= since && !this.#doubted;
  }

  /** Another connection of the session has died without notice, so this one may have died as well. */
  doubt(): void {
    if (this.#doubted) return;
    this.#doubted = true;
    this.ping(0);
  }

  ping(number: number): void {
    this.wire.write(this.revision === 1 ? encode("Ping", number) : numberFrame(frameType.ping, number));
  }

  /** Proxy: gives it to a consumer. What it sends first shares a write with the start; without any, `flush` of the channel sends that. */
  begin(consumer: { from: string; to: string }): Channel {
    this.#streams += 1;
    const channel = new Channel(this, this.#streams);
    const proof = this.proofOf(channel.number);
    this.#channel = channel;
    channel.begin(
      this.revision === 1
        ? encode("Start", { ...consumer, proof: toHex(proof) })
        : startFrame({ ...consumer, stream: channel.number, proof }),
    );
    return channel;
  }

  /** Closes a connection that carries no stream, after all that was written. */
  close(): void {
    this.#isGone = true;
    closing.add(this);
    this.wire.finish();
  }

  /** Resets it, with the stream that it carries. */
  fail(cause: Error): void {
    const channel = this.#channel;
    this.#channel = undefined;
    this.wire.reset();
    closing.delete(this);
    this.#lose(cause, channel);
  }

  settle(): void {
    const channel = this.#channel;
    if (channel?.incoming !== "ended" || channel.outgoing !== "ended") return;
    // Until everything is in the kernel's hands the stream runs: it ends well only then.
    if (this.wire.backlog > 0) return;
    this.#channel = undefined;
    this.wire.resume();
    channel.close(undefined);
    if (channel.isLast) this.#isGone = true;
    else if (!this.#isGone) this.owner.free(this);
  }

  received(chunk: Uint8Array): void {
    this.lastHeard = performance.now();
    try {
      this.#reader.read(chunk);
    } catch (cause) {
      if (!(cause instanceof ProtocolError)) throw cause;
      this.fail(cause);
    }
  }

  get isRaw(): boolean {
    return this.#channel?.incoming === "raw";
  }

  get isReading(): boolean {
    return this.wire.open;
  }

  bytes(bytes: Uint8Array): void {
    this.#channel?.received(bytes);
  }

  frame(type: number, payload: Buffer): void {
    if (this.revision === 1) throw new ProtocolError("a frame in a session without frames");
    switch (type) {
      case frameType.data:
        this.#answered("data");
        return;
      case frameType.start: {
        const start = startIn(payload);
        if (start === undefined) throw new ProtocolError("a start frame has a wrong content");
        this.#start(start, (expected) => timingSafeEqual(start.proof, expected));
        return;
      }
      case frameType.started:
        this.#started();
        return;
      case frameType.refused:
        this.#refused(refusalIn(payload));
        return;
      case frameType.end:
        this.#answered("end").ended();
        return;
      case frameType.raw:
        this.#answered("raw").turnedRaw();
        return;
      case frameType.reset:
        // It may have crossed the end of its stream.
        if (this.#channel !== undefined && numberIn(payload) === this.#channel.number) this.#channel.wasReset();
        return;
      case frameType.ping:
        this.#pinged(numberIn(payload) ?? 0);
        return;
      case frameType.pong:
        this.#ponged();
        return;
      default:
        throw new ProtocolError("a frame of an unknown type");
    }
  }

  message(message: Message): void {
    switch (message.name) {
      case "Ping":
        this.#pinged(message.value);
        return;
      case "Pong":
        this.#ponged();
        return;
      case "Start": {
        const { from, to, proof } = message.value;
        this.#start({ stream: 1, from, to }, (expected) => matches(expected, proof)).turnedRaw();
        return;
      }
      case "Started":
        this.#started()?.turnedRaw();
        return;
      case "Refused":
        this.#refused(message.value);
        return;
      default:
        this.owner.stray(this, message);
    }
  }

  #current(what: string): Channel {
    const channel = this.#channel;
    if (channel?.incoming !== "framed") throw new ProtocolError(`${what} outside of a stream`);
    return channel;
  }

  #answered(what: string): Channel {
    const channel = this.#current(what);
    if (channel.isAwaited) throw new ProtocolError(`${what} before the answer to the start`);
    return channel;
  }

  #start(start: { stream: number; from: string; to: string }, fits: (expected: Uint8Array) => boolean): Channel {
    if (this.#channel !== undefined || start.stream !== this.#streams + 1 || this.wire.isFinishing) {
      throw new ProtocolError("a start out of its turn");
    }
    this.#streams += 1;
    if (!fits(this.proofOf(this.#streams))) throw new ProtocolError("the proxy does not know the session's key");
    const channel = new Channel(this, this.#streams);
    this.#channel = channel;
    this.owner.start(this, channel, start);
    return channel;
  }

  #started(): Channel | undefined {
    const channel = this.#current("an answer");
    if (!channel.isAwaited) throw new ProtocolError("an answer without a start");
    channel.isAwaited = false;
    if (channel.open) this.owner.started(channel);
    return channel;
  }

  #refused(refusal: Refusal): void {
    const channel = this.#current("an answer");
    if (!channel.isAwaited) throw new ProtocolError("an answer without a start");
    channel.isAwaited = false;
    if (channel.open) this.owner.refused(channel, refusal);
    channel.wasReset();
  }

  #pinged(number: number): void {
    this.wire.write(this.revision === 1 ? encode("Pong", number) : numberFrame(frameType.pong, number));
    this.owner.heard(this);
  }

  #ponged(): void {
    this.#doubted = false;
    this.owner.heard(this);
  }

  drained(): void {
    this.#channel?.drained();
    this.settle();
  }

  ended(): void {
    const channel = this.#channel;
    if (channel === undefined) {
      this.wire.finish();
      this.#lose(new ProtocolError("closed by the peer"), undefined);
    } else if (channel.incoming === "raw") channel.ended();
    // The peer has seen that this side is raw, and that ends the connection. Anything else is a cut.
    else if (channel.incoming !== "ended" || channel.outgoing === "framed") {
      this.fail(new StreamCut("the connection ended inside a stream"));
    }
  }

  closed(cause: Error | undefined): void {
    closing.delete(this);
    const channel = this.#channel;
    this.#channel = undefined;
    if (channel?.incoming === "ended" && channel.outgoing === "ended" && cause === undefined) channel.close(undefined);
    else this.#lose(cause ?? new StreamCut("the connection was closed"), channel);
  }

  #lose(cause: Error, channel: Channel | undefined): void {
    const isAsked = channel?.open === true && channel.isAwaited;
    if (!this.#isGone || isAsked) {
      this.#isGone = true;
      this.owner.lost(this, cause, isAsked ? channel : undefined);
    }
    channel?.close(cause);
  }
}

const closing = new Deadlines<DataConnection>(closeTimeout, (connection) => {
  const { wire } = connection;
  // A reset would destroy the end of its last stream.
  if (wire.open && sendBufferOf(wire.descriptor).queued > 0) closing.add(connection);
  else wire.reset();
});
