import type { Wire, WireOwner } from "../net/wire.ts";
import { encode, type Message, MessageReader, type Messages, ProtocolError } from "../protocol/messages.ts";

/** Milliseconds that a data connection stays idle before a new one takes its place: routers and load balancers forget old ones. */
const idleLifetime = 300_000;
/** Data connections a target may keep idle at a proxy; a sane one never comes near. */
export const maxIdle = 1024;

/** What a data connection tells the session it belongs to. */
export interface DataConnectionOwner {
  /** The target answered a ping. */
  answered(connection: DataConnection): void;
  started(connection: DataConnection, firstBytes: Uint8Array): void;
  refused(connection: DataConnection, answer: Messages["Refused"]): void;
  /** The connection is gone, or the target broke the protocol on it (the wire is reset then). */
  lost(connection: DataConnection, cause: Error): void;
  /** What had to wait for the target's side to read is written. */
  drained(connection: DataConnection): void;
}

/** Proxy's side of a connection that a target opened ahead of need, until the stream on it has started. */
export class DataConnection implements WireOwner {
  /** `performance.now()` of the last sign of life. */
  heard = performance.now();
  /** `performance.now()` from when on it is replaced; spread, so that a pool does not age all at once. */
  readonly expires = performance.now() + idleLifetime * (0.75 + Math.random() / 4);
  /** Has to answer a ping before it is used. */
  #doubted = false;
  #reader = new MessageReader();
  #owner: DataConnectionOwner;

  constructor(
    readonly wire: Wire,
    /** Its number in the session. */
    readonly number: number,
    owner: DataConnectionOwner,
  ) {
    this.#owner = owner;
    wire.owner = this;
  }

  /** Whether it may be used without asking: it has been heard of since then, and nothing speaks against it. */
  isFresh(since: number): boolean {
    return this.heard >= since && !this.#doubted;
  }

  /** Another connection of the session has died without notice, so this one may have died as well. */
  doubt(): void {
    if (this.#doubted) return;
    this.#doubted = true;
    this.ping(0);
  }

  ping(number: number): void {
    this.wire.write(encode("Ping", number));
  }

  received(chunk: Uint8Array): void {
    this.#reader.push(chunk);
    try {
      for (let message = this.#reader.next(); message !== undefined; message = this.#reader.next()) {
        if (this.#handle(message)) return;
      }
    } catch (cause) {
      if (!(cause instanceof ProtocolError)) throw cause;
      this.#fail(cause);
    }
  }

  /** True when the bytes that follow are none of ours. */
  #handle(message: Message): boolean {
    switch (message.name) {
      case "Pong":
        this.heard = performance.now();
        this.#doubted = false;
        this.#owner.answered(this);
        // The owner may have taken the wire for a stream; its `Started` is still ours to read.
        return false;
      case "Started":
        this.#owner.started(this, this.#reader.rest());
        return true;
      case "Refused":
        this.#owner.refused(this, message.value);
        return true;
      default:
        throw new ProtocolError(`unexpected ${message.name} on a data connection`);
    }
  }

  drained(): void {
    this.#owner.drained(this);
  }

  ended(): void {
    this.#fail(new ProtocolError("closed by the target"));
  }

  closed(cause: Error | undefined): void {
    this.#owner.lost(this, cause ?? new ProtocolError("closed by the target"));
  }

  #fail(cause: Error): void {
    this.wire.reset();
    this.#owner.lost(this, cause);
  }
}
