import { errorText } from "../../errors.ts";
import { connectFirst } from "../net/dial.ts";
import { tunnelKeepAlive } from "../net/socket-options.ts";
import type { Wire } from "../net/wire.ts";
import { isBoreChallenge, parseUuid } from "../protocol/challenge.ts";
import { MessageConnection } from "../protocol/message-connection.ts";
import { encode, type Message, ProtocolError } from "../protocol/messages.ts";
import { answer, keyOf, toHex } from "../protocol/proofs.ts";
import { Stream, type StreamHolder } from "../stream.ts";
import { serve } from "./serve.ts";
import type { SessionEvents, TargetCore, TargetSession } from "./target-core.ts";

/** Milliseconds until a connection for a consumer must be authenticated; bore's own limit. */
const acceptTimeout = 3000;
/** Consumers that may be on their way at once; a bore server gives up on the others after 10 s by itself. */
const maxAccepting = 512;

export interface BoreIdentity {
  address: string;
  port: number;
  boundPort: number;
  secret: string;
}

/** A session with a stock bore server: one new connection for each consumer that it tells of. */
export class BoreTargetSession implements TargetSession, StreamHolder {
  readonly protocol = "bore";
  readonly address: string;
  readonly instance = undefined;
  readonly proxyAddress = undefined;
  readonly boundPort: number;
  readonly secret: string;
  readonly encrypted = false;
  readonly pool = { idle: 0, opening: 0, wanted: 0 };
  readonly roundTrip = undefined;
  readonly isDoubted = false;
  streams = 0;
  #core: TargetCore;
  #control: MessageConnection;
  #identity: BoreIdentity;
  #events: SessionEvents;
  #over = false;
  #accepting = 0;
  #heard = performance.now();
  #watch: Timer;

  constructor(core: TargetCore, control: MessageConnection, identity: BoreIdentity, events: SessionEvents) {
    this.#core = core;
    this.#control = control;
    this.#identity = identity;
    this.#events = events;
    this.address = identity.address;
    this.boundPort = identity.boundPort;
    this.secret = identity.secret;
    control.wire.keepAlive(tunnelKeepAlive);
    this.#watch = setInterval(
      () => {
        if (performance.now() - this.#heard > core.deadline) control.fail(new ProtocolError("the proxy is silent"));
      },
      Math.max(10, core.deadline / 6),
    );
  }

  /** A bore server has one address. */
  strayed(): void {}

  moved(): void {}

  begin(): void {
    this.#control.handOver({ message: (message) => this.#message(message), over: (cause) => this.#end(cause) });
  }

  /** The protocol has no word for it: ending the session makes the server close its consumer port. */
  async drain(): Promise<void> {
    this.end();
  }

  end(): void {
    this.#control.reset();
    this.#end(undefined);
  }

  #message(message: Message): void {
    this.#heard = performance.now();
    switch (message.name) {
      case "Heartbeat":
        return;
      case "Connection":
        if (this.#accepting < maxAccepting) void this.#accept(message.value);
        else this.#core.log.warn("too many consumers at once: one is left to the server's timeout");
        return;
      case "Error":
        throw new ProtocolError("the server reported an error");
      default:
        throw new ProtocolError(`unexpected ${message.name} in a session`);
    }
  }

  async #accept(id: string): Promise<void> {
    this.#accepting += 1;
    try {
      const { address, port, secret } = this.#identity;
      const wire = await connectFirst([address], port, acceptTimeout, this.#core.way);
      wire.keepAlive(tunnelKeepAlive);
      const rest = await authenticate(wire, secret, id);
      this.#serve(wire, rest);
    } catch (cause) {
      this.#core.log.debug("no connection for a consumer", { reason: errorText(cause) });
    } finally {
      this.#accepting -= 1;
    }
  }

  #serve(wire: Wire, early: Uint8Array): void {
    this.streams += 1;
    const stream = new Stream(this.#core.streams, wire, { from: undefined, to: undefined, early });
    stream.holder = this;
    void serve(stream, this.#core.backend, { connected() {}, failed() {} });
  }

  ended(): void {
    this.streams -= 1;
    if (this.streams === 0) this.#events.unused();
  }

  #end(cause: Error | undefined): void {
    if (this.#over) return;
    this.#over = true;
    clearInterval(this.#watch);
    if (cause !== undefined) this.#events.over(cause);
  }
}

/** Answers the challenge on a new connection and claims consumer `id`. Resolves with the bytes that came after the challenge. */
function authenticate(wire: Wire, secret: string, id: string): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const limit = setTimeout(() => connection.fail(new ProtocolError("no challenge came in time")), acceptTimeout);
  const connection = new MessageConnection(wire, {
    message: (message) => {
      if (message.name !== "Challenge") throw new ProtocolError(`unexpected ${message.name} instead of a challenge`);
      clearTimeout(limit);
      const challenge = parseUuid(message.value);
      if (!isBoreChallenge(challenge))
        throw new ProtocolError("another program's challenge instead of a bore server's");
      const tag = toHex(answer(keyOf(secret), challenge));
      connection.sendFrames(encode("Authenticate", tag), encode("Accept", id));
      resolve(connection.release().rest);
    },
    over: (cause) => {
      clearTimeout(limit);
      reject(cause);
    },
  });
  return promise;
}
