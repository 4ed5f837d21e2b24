import type { DuplexOwner } from "../net/duplex.ts";
import type { Side } from "../net/tls.ts";
import type { Wire } from "../net/wire.ts";
import { encode, type Message, type MessageName, MessageReader, type Messages, ProtocolError } from "./messages.ts";

/**
 * Bytes of messages that may wait, in either direction: for a peer that does not read, and from one that does not wait for its turn in a
 * handshake. Above that the peer is reset. Control messages are small and few, so a sane peer never comes near.
 */
const maxBacklog = 64 * 1024;

export interface MessageHandler {
  message(message: Message): void;
  /** The connection is over, once: closed by the peer or the network, or reset here since the peer broke the protocol or does not read. */
  over(cause: Error): void;
}

class PeerClosed extends Error {
  override readonly name = "PeerClosed";

  constructor() {
    super("the peer closed the connection");
  }
}

/** A wire that carries messages: a control connection, or any connection during its handshake. */
export class MessageConnection implements DuplexOwner {
  #reader = new MessageReader();
  #handler: MessageHandler | undefined;
  #held = false;
  /** Why the connection is over. */
  #end: Error | undefined;

  constructor(
    readonly wire: Wire,
    handler: MessageHandler,
  ) {
    this.#handler = handler;
    wire.owner = this;
  }

  /** As `sendFrames`, for one message. */
  send<Name extends MessageName>(name: Name, value: Messages[Name]): void {
    this.sendFrames(encode(name, value));
  }

  /**
   * Several messages in one write. When more than 64 KiB then wait for the peer to read, the connection is reset and the handler's `over`
   * called with a ProtocolError before this returns.
   */
  sendFrames(...frames: Uint8Array[]): void {
    const [first] = frames;
    this.wire.write(frames.length === 1 && first !== undefined ? first : Buffer.concat(frames));
    if (this.wire.backlog > maxBacklog) this.fail(new ProtocolError("the peer does not read its messages"));
  }

  /** Another handler takes over; it gets the messages from the next one on, also held ones, and the end, also when that has come already. */
  handOver(handler: MessageHandler): void {
    if (this.#end !== undefined) {
      handler.over(this.#end);
      return;
    }
    this.#handler = handler;
    this.wire.owner = this;
    this.proceed();
  }

  /** Keeps further messages until `proceed` or another handler. */
  hold(): void {
    this.#held = true;
  }

  proceed(): void {
    this.#held = false;
    this.#dispatch();
  }

  /**
   * Goes on inside TLS: both ends have said so. Rejects with ProtocolError when the peer has sent more behind its word, which nobody could tell
   * from what is inside, and with TlsFailed when TLS does not come about; the wire is reset then, and the handler hears nothing more.
   */
  async secure(side: Side): Promise<void> {
    if (this.#reader.pending > 0) {
      this.reset();
      throw new ProtocolError("plain bytes where TLS should begin");
    }
    await this.wire.secure(side);
  }

  /** Gives the wire away, with the bytes that came after the last message. */
  release(): { wire: Wire; rest: Uint8Array } {
    this.#handler = undefined;
    return { wire: this.wire, rest: this.#reader.rest() };
  }

  reset(): void {
    this.#handler = undefined;
    this.wire.reset();
  }

  fail(cause: Error): void {
    this.wire.reset();
    this.#over(cause);
  }

  #over(cause: Error): void {
    const handler = this.#handler;
    this.#handler = undefined;
    this.#end ??= cause;
    handler?.over(cause);
  }

  received(chunk: Uint8Array): void {
    if (this.#handler === undefined) return;
    this.#reader.push(chunk);
    if (this.#held && this.#reader.pending > maxBacklog)
      this.fail(new ProtocolError("the peer does not wait its turn"));
    this.#dispatch();
  }

  #dispatch(): void {
    try {
      // The handler may let go of the connection at any message: then the rest is not ours to read.
      while (this.#handler !== undefined && !this.#held) {
        const message = this.#reader.next();
        if (message === undefined) return;
        this.#handler.message(message);
      }
    } catch (cause) {
      if (!(cause instanceof ProtocolError)) throw cause;
      this.fail(cause);
    }
  }

  drained(): void {}

  ended(): void {
    if (this.#handler === undefined) this.wire.reset();
    else this.fail(new PeerClosed());
  }

  closed(cause: Error | undefined): void {
    this.#over(cause ?? new PeerClosed());
  }
}
