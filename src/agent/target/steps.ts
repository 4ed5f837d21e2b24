import { errorText } from "../../errors.ts";
import type { Wire } from "../net/wire.ts";
import { MessageConnection } from "../protocol/message-connection.ts";
import { type Message, ProtocolError } from "../protocol/messages.ts";

/** Milliseconds that each message of a handshake may take. */
const stepTimeout = 3000;

/** What is encrypted at this end cannot be encrypted with the other one, or the other way round: the proxy has heard nothing that is made from the secret. */
export class EncryptionFailed extends Error {
  override readonly name = "EncryptionFailed";
}

class NoAnswer extends Error {
  override readonly name = "NoAnswer";

  constructor() {
    super("the proxy did not answer in time");
  }
}

/** The messages of a handshake, one after the other. */
export class Steps {
  readonly connection: MessageConnection;
  #step = Promise.withResolvers<Message>();

  constructor(wire: Wire) {
    this.connection = new MessageConnection(wire, {
      message: (message) => {
        // What follows is for the next step, or for the session that comes out of this handshake.
        this.connection.hold();
        this.#step.resolve(message);
      },
      over: (cause) => this.#step.reject(cause),
    });
    this.#step.promise.catch(() => {});
  }

  /** The next message. Rejects when the connection ends or nothing comes in time; then the wire is reset. */
  async next(): Promise<Message> {
    const { connection } = this;
    const limit = setTimeout(() => {
      const cause = new NoAnswer();
      connection.fail(cause);
      // A connection that ended between two steps tells nobody any more.
      this.#step.reject(cause);
    }, stepTimeout);
    try {
      connection.proceed();
      const message = await this.#step.promise;
      this.#step = Promise.withResolvers();
      this.#step.promise.catch(() => {});
      return message;
    } finally {
      clearTimeout(limit);
    }
  }

  /** Asks for TLS and goes on inside. Rejects with EncryptionFailed when it does not come about, or the reason why the connection ended; the wire is reset then. */
  async encrypt(): Promise<void> {
    this.connection.send("StartTls", null);
    let message = await this.next();
    // A challenge that was on its way already.
    if (message.name === "Challenge") message = await this.next();
    if (message.name !== "StartTls") {
      this.connection.reset();
      throw new ProtocolError(`unexpected ${message.name} instead of TLS`);
    }
    try {
      await this.connection.secure("client");
    } catch (cause) {
      throw new EncryptionFailed(`TLS with the proxy failed: ${errorText(cause)}`, { cause });
    }
  }
}
