import { Deadlines } from "../deadlines.ts";
import { type Duplex, type DuplexOwner, nobody, nothing } from "../net/duplex.ts";
import { afterNextPoll } from "../net/turn.ts";
import type { Wire } from "../net/wire.ts";
import {
  endFrame,
  frameType,
  headerSize,
  maxData,
  numberFrame,
  putHeader,
  type Refusal,
  rawFrame,
  refusedFrame,
  startedFrame,
} from "./frames.ts";
import { encode } from "./messages.ts";

/**
 * Bytes of one direction after which it turns raw: what is so long is worth a connection of its own, since the kernel then moves the rest. The peer has to
 * read what is framed, and may have to keep it; so there are fewer of them when there are many streams.
 */
const rawAfter = { most: 256 * 1024, least: 16 * 1024, ofAll: 16 * 1024 * 1024 };
/** Bytes sent from which on a reset does not wait for its turn behind them: the peer may be unable to take them. It holds so many in any case. */
const resetAfter = 16 * 1024;
/** Milliseconds that the target's answer waits for the backend's first bytes, to share their write. */
const answerPatience = 2;
/** Milliseconds that the peer has for answering a reset. */
const resetTimeout = 3000;
/** Characters of a reason that fit into a message, whatever they are. */
const maxReason = 180;
/** Headers and payload of one event are put together here, so that they are one write. */
const scratch = new Uint8Array(64 * 1024);
const startedMessage = encode("Started", null);

/** How one direction is carried: in frames, as it is, or not any more. */
export type Direction = "framed" | "raw" | "ended";

/** What a channel needs of the connection that carries it. */
export interface Carrier {
  readonly wire: Wire;
  /** Of the extension: in the first one a stream is raw from its start on, and a connection carries one only. */
  readonly revision: 1 | 2;
  /** One more direction of the channel has ended. */
  settle(): void;
  /** Resets the connection. */
  fail(cause: Error): void;
}

/** The peer reset the stream, or its connection broke in the middle of it. */
export class StreamCut extends Error {
  override readonly name = "StreamCut";
}

/** Channels that are open. */
let running = 0;

/** One stream's part of a data connection. */
export class Channel implements Duplex {
  owner: DuplexOwner = nobody;
  open = true;
  incoming: Direction = "framed";
  outgoing: Direction;
  /** A direction of it has turned raw: its connection carries nothing after it, as both sides know. */
  isLast: boolean;
  /** Proxy: the target has not said yet whether the backend is connected. */
  isAwaited = false;
  /** Goes out in front of the first bytes. */
  #head: Uint8Array = nothing;
  #sent = 0;

  constructor(
    readonly carrier: Carrier,
    /** Its number on the connection, from 1. */
    readonly number: number,
  ) {
    this.isLast = carrier.revision === 1;
    this.outgoing = this.isLast ? "raw" : "framed";
    running += 1;
  }

  /** Proxy: begins with these bytes; `flush` sends them when nothing else does. */
  begin(head: Uint8Array): void {
    this.isAwaited = true;
    this.#head = head;
  }

  /** Target: says that the backend is connected, together with its first bytes if they come at once. */
  confirm(): void {
    this.#head = this.carrier.revision === 1 ? startedMessage : startedFrame;
    unanswered.add(this);
  }

  flush(): void {
    const head = this.#takeHead();
    if (head.byteLength > 0) this.carrier.wire.write(head);
  }

  /** Target: the backend is not connected. */
  refuse(refusal: Refusal): void {
    const { wire, revision } = this.carrier;
    this.#leave();
    if (revision === 1) {
      // The peer closes: closing it over unread bytes from here would destroy the message.
      wire.write(encode("Refused", { ...refusal, reason: printable(refusal.reason) }));
    } else {
      wire.write(refusedFrame(refusal));
      this.outgoing = "ended";
    }
    this.#awaitEnd();
  }

  get isClear(): boolean {
    return this.open && this.outgoing !== "ended" && this.carrier.wire.isClear;
  }

  get rawSource(): Wire | undefined {
    return this.open && this.incoming === "raw" ? this.carrier.wire : undefined;
  }

  get rawSink(): Wire | undefined {
    return this.open && this.outgoing === "raw" && this.#head.byteLength === 0 ? this.carrier.wire : undefined;
  }

  write(bytes: Uint8Array): boolean {
    if (!this.open || this.outgoing === "ended") return true;
    const { wire } = this.carrier;
    const head = this.#takeHead();
    if (this.outgoing === "raw") return wire.write(head.byteLength === 0 ? bytes : Buffer.concat([head, bytes]));
    this.#sent += bytes.byteLength;
    const isLong = this.#sent > Math.max(rawAfter.least, Math.min(rawAfter.most, rawAfter.ofAll / running));
    if (!isLong || !this.#mayTurnRaw) return writeFrames(wire, head, bytes);
    this.#goRaw();
    return writeFrames(wire, head, bytes, rawFrame);
  }

  turnRaw(): void {
    if (!this.#mayTurnRaw) return;
    this.#goRaw();
    writeFrames(this.carrier.wire, this.#takeHead(), nothing, rawFrame);
  }

  #goRaw(): void {
    this.outgoing = "raw";
    this.isLast = true;
  }

  /** Never under encryption: there the frame `end` is the only end, which nobody in between can make. */
  get #mayTurnRaw(): boolean {
    return this.open && this.outgoing === "framed" && !this.carrier.wire.isSecure;
  }

  pause(): void {
    if (this.open) this.carrier.wire.pause();
  }

  resume(): void {
    if (this.open) this.carrier.wire.resume();
  }

  carryStream(): void {
    this.carrier.wire.carryStream();
  }

  finish(): void {
    if (!this.open || this.outgoing === "ended") return;
    const { wire } = this.carrier;
    if (this.outgoing === "raw") {
      this.flush();
      this.outgoing = "ended";
      wire.finish();
    } else {
      writeFrames(wire, this.#takeHead(), nothing, endFrame);
      this.outgoing = "ended";
      if (this.isLast) wire.finish();
    }
    this.carrier.settle();
  }

  reset(): void {
    if (!this.open) return;
    const { wire } = this.carrier;
    const head = this.#takeHead();
    this.#leave();
    if (this.isLast || wire.backlog > 0 || this.#sent > resetAfter) {
      // A backend that connects and resets was there: without the answer the proxy would take this for a lost connection.
      if (head.byteLength > 0) wire.write(head);
      this.carrier.fail(new StreamCut("a stream was cut"));
      return;
    }
    wire.write(Buffer.concat([head, numberFrame(frameType.reset, this.number)]));
    this.outgoing = "ended";
    this.#awaitEnd();
  }

  /** The peer's bytes. Those of a stream that was left are nobody's. */
  received(bytes: Uint8Array): void {
    if (this.open) this.owner.received(bytes);
  }

  drained(): void {
    if (this.open) this.owner.drained();
  }

  /** The peer turned raw: the connection will not be used again, and FIN is what ends it. */
  turnedRaw(): void {
    this.incoming = "raw";
    this.isLast = true;
    if (this.outgoing === "ended") this.carrier.wire.finish();
  }

  ended(): void {
    this.incoming = "ended";
    if (this.open) this.owner.ended();
    this.carrier.settle();
  }

  /** The peer has cut the stream. */
  wasReset(): void {
    const cause = new StreamCut("reset by the peer");
    const owner = this.#leave();
    this.incoming = "ended";
    if (this.outgoing === "framed") {
      this.outgoing = "ended";
      this.carrier.wire.write(numberFrame(frameType.reset, this.number));
    }
    owner.closed(cause);
    // The peer did not know yet that this side is raw, where no frame can tell it anything.
    if (this.outgoing === "raw") this.carrier.fail(cause);
    else this.carrier.settle();
  }

  /** It is over, in order or with the connection. */
  close(cause: Error | undefined): void {
    resets.delete(this);
    this.#leave().closed(cause);
  }

  #takeHead(): Uint8Array {
    const head = this.#head;
    if (head.byteLength === 0) return head;
    unanswered.delete(this);
    this.#head = nothing;
    return head;
  }

  #leave(): DuplexOwner {
    const { owner } = this;
    unanswered.delete(this);
    if (this.open) running -= 1;
    this.open = false;
    this.owner = nobody;
    // An answer whose turn has come already must not follow the stream's end.
    this.#head = nothing;
    return owner;
  }

  /** What the peer still sends is dropped until it has answered. */
  #awaitEnd(): void {
    if (this.incoming !== "ended") resets.add(this);
    this.carrier.wire.resume();
    this.carrier.settle();
  }
}

/** Names of backends may hold anything; JSON escapes would make the message longer than a peer accepts. */
const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]|["\\]/g, "?").slice(0, maxReason);

/** A busy process is late with everything: what came meanwhile is seen by one more look at the sockets. */
const unanswered = new Deadlines<Channel>(answerPatience, (channel) => afterNextPoll(() => channel.flush()));
const resets = new Deadlines<Channel>(resetTimeout, ({ carrier }) =>
  carrier.fail(new StreamCut("the peer did not answer a reset")),
);

function writeFrames(wire: Wire, head: Uint8Array, payload: Uint8Array, after: Uint8Array = nothing): boolean {
  let at = head.byteLength;
  scratch.set(head);
  if (payload.byteLength > maxData) throw new RangeError("a frame of a stream is too long");
  if (payload.byteLength > 0) {
    putHeader(scratch, at, frameType.data, payload.byteLength);
    at += headerSize;
  }
  const size = at + payload.byteLength + after.byteLength;
  if (size <= scratch.byteLength) {
    scratch.set(payload, at);
    scratch.set(after, size - after.byteLength);
    return wire.write(scratch.subarray(0, size), true);
  }
  wire.write(scratch.subarray(0, at), true);
  return wire.write(after.byteLength === 0 ? payload : Buffer.concat([payload, after]));
}
