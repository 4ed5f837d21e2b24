import { formatHostPort, type HostPort, parseHostPort } from "../../endpoint.ts";
import { Deadlines } from "../deadlines.ts";
import { dialTimeout } from "../net/dial.ts";
import { tunnelKeepAlive } from "../net/socket-options.ts";
import type { Wire } from "../net/wire.ts";
import type { Pipe } from "../pipe.ts";
import type { MessageConnection } from "../protocol/message-connection.ts";
import { encode, type Message, type Messages, ProtocolError } from "../protocol/messages.ts";
import { bound, joinProof, matches, startProof, toHex } from "../protocol/proofs.ts";
import { Pulse } from "../protocol/pulse.ts";
import { knownResult } from "../protocol/refusals.ts";
import { UsedNumbers } from "../protocol/used-numbers.ts";
import { StreamError } from "../streams.ts";
import { type Consumer, factsOf } from "./consumer.ts";
import { DataConnection, type DataConnectionOwner, maxIdle } from "./data-connection.ts";
import type { ProxyCore, ProxySession, SessionIdentity } from "./proxy-core.ts";

/** A session with a netaminity target: a control connection and a pool of idle data connections. */
export class NetaminitySession implements ProxySession, DataConnectionOwner {
  readonly peer: string;
  readonly encrypted: boolean;
  streams = 0;
  #core: ProxyCore;
  #control: MessageConnection;
  #pulse: Pulse;
  #draining = false;
  #over = false;
  #numbers = new UsedNumbers();
  #idle: DataConnection[] = [];
  #waiting: Deadlines<Consumer>;
  /** Consumers that were handed to a data connection and have no answer of the target yet. */
  #starts = new Map<DataConnection, { consumer: Consumer; pipe: Pipe }>();
  #answers: Deadlines<DataConnection>;
  #wanted = 0;
  /** Where the target has another session now. Data connections of this one are hard to come by. */
  #successor: HostPort | undefined;

  constructor(
    core: ProxyCore,
    control: MessageConnection,
    readonly identity: SessionIdentity,
  ) {
    this.#core = core;
    this.#control = control;
    this.encrypted = identity.encrypted;
    this.peer = formatHostPort(control.wire.remote);
    this.#waiting = new Deadlines(core.deadline, (consumer) => {
      this.#leave(consumer);
      core.refuse(consumer, new StreamError("lost", "no data connection came in time"));
    });
    // Longer than the target's own limit for dialling, whatever the deadline is, so that its reason arrives first.
    this.#answers = new Deadlines(dialTimeout + core.deadline, (connection) =>
      this.lost(connection, new ProtocolError("the target did not answer the start in time")),
    );
    this.#pulse = new Pulse(
      control,
      core.deadline,
      (number) => this.#pingIdle(number),
      // The target has to learn of it: when it is heard again, it must not take this session for alive.
      () => control.fail(new ProtocolError("the target is silent")),
    );
    control.wire.keepAlive(tunnelKeepAlive);
  }

  begin(): void {
    this.#control.handOver({ message: (message) => this.#message(message), over: (cause) => this.#end(cause) });
  }

  get available(): boolean {
    return !this.#draining && !this.#over && this.#pulse.silence < this.#core.deadline;
  }

  get idle(): number {
    return this.#idle.length;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get roundTrip(): number | undefined {
    return this.#pulse.roundTrip;
  }

  take(consumer: Consumer): void {
    const connection = this.#takeFresh();
    if (connection === undefined && this.#successor !== undefined && consumer.sender === "consumer") {
      this.#core.handOver(consumer, this.#successor);
      return;
    }
    this.streams += 1;
    if (connection !== undefined) {
      this.#core.metrics.poolHits.inc();
      this.#begin(connection, consumer);
      return;
    }
    this.#core.metrics.poolMisses.inc();
    consumer.wait(() => {
      this.#leave(consumer);
      this.#core.refuse(consumer, new StreamError("reset", "the consumer left before its start"));
    });
    this.#waiting.add(consumer);
    this.#idle.at(-1)?.ping(0);
    this.#want();
  }

  supersede(): void {
    this.#draining = true;
    this.#stopTaking();
  }

  drain(): void {
    if (!this.#over) this.#control.send("Drain", null);
  }

  end(): void {
    this.#pulse.stop();
    this.#control.reset();
    this.#end(undefined);
  }

  /** A data connection of this session has come; false when its proof is wrong or used up. */
  join(wire: Wire, { number, proof }: Messages["Join"]): boolean {
    if (wire.isSecure !== this.encrypted) return false;
    if (!matches(joinProof(bound(this.identity.key, wire.binding), number), proof) || !this.#numbers.use(number))
      return false;
    if (this.#draining || this.#over || this.#idle.length >= maxIdle) {
      wire.reset();
      return true;
    }
    this.#available(new DataConnection(wire, number, this));
    return true;
  }

  answered(connection: DataConnection): void {
    const at = this.#idle.indexOf(connection);
    if (at < 0 || this.#waiting.size === 0) return;
    this.#idle.splice(at, 1);
    this.#available(connection);
  }

  started(connection: DataConnection, firstBytes: Uint8Array): void {
    const start = this.#starts.get(connection);
    if (start === undefined) {
      this.#unasked(connection);
      return;
    }
    this.#forget(connection);
    this.#core.metrics.startSeconds.observe(start.consumer.age / 1000);
    start.pipe.attach(start.pipe.back, firstBytes);
  }

  refused(connection: DataConnection, { result, reason }: Messages["Refused"]): void {
    const start = this.#starts.get(connection);
    if (start === undefined) this.#unasked(connection);
    else start.pipe.reset(new StreamError(knownResult(result), `target: ${reason}`));
  }

  lost(connection: DataConnection, cause: Error): void {
    const start = this.#starts.get(connection);
    if (start === undefined) {
      this.#idle = this.#idle.filter((other) => other !== connection);
      return;
    }
    for (const idle of this.#idle) idle.doubt();
    const { consumer, pipe } = start;
    const untouched = pipe.forth.bytes === 0 && !pipe.forth.finished;
    if (untouched && consumer.tryAgain()) {
      this.#core.streams.abandon(pipe, consumer.id);
      this.#forget(connection);
      this.streams -= 1;
      connection.wire.reset();
      this.#core.metrics.moved.inc();
      this.#core.place(consumer);
    } else {
      // Some of its bytes may have reached the backend, so they must not go anywhere else.
      pipe.reset(new StreamError("lost", `start: ${cause.message}`));
    }
  }

  drained(connection: DataConnection): void {
    this.#starts.get(connection)?.pipe.back.drained();
  }

  /** The target answered a start that nobody sent. */
  #unasked(connection: DataConnection): void {
    connection.wire.reset();
    this.lost(connection, new ProtocolError("an answer without a start"));
  }

  #takeFresh(): DataConnection | undefined {
    // A connection is used without asking only while its last answer is fresh.
    const since = performance.now() - this.#core.deadline / 2;
    const at = this.#idle.findLastIndex((connection) => connection.isFresh(since));
    return at < 0 ? undefined : this.#idle.splice(at, 1)[0];
  }

  #available(connection: DataConnection): void {
    const consumer = this.#waiting.oldest;
    if (consumer === undefined) {
      this.#idle.push(connection);
      return;
    }
    this.#waiting.delete(consumer);
    this.#begin(connection, consumer);
  }

  #begin(connection: DataConnection, consumer: Consumer): void {
    const { wire } = connection;
    const proof = toHex(startProof(bound(this.identity.key, wire.binding), connection.number));
    const start = encode("Start", { from: consumer.from, to: consumer.to, proof });
    const pipe = this.#core.streams.open(consumer.wire, wire, factsOf(consumer), () => {
      this.#forget(connection);
      this.streams -= 1;
    });
    this.#starts.set(connection, { consumer, pipe });
    this.#answers.add(connection);
    consumer.join(pipe, start);
  }

  #forget(connection: DataConnection): void {
    this.#starts.delete(connection);
    this.#answers.delete(connection);
  }

  #leave(consumer: Consumer): void {
    this.#waiting.delete(consumer);
    this.streams -= 1;
  }

  /** Asks for data connections, once for all consumers that came in this turn of the event loop. */
  #want(): void {
    this.#wanted += 1;
    if (this.#wanted > 1) return;
    setImmediate(() => {
      const count = this.#wanted;
      this.#wanted = 0;
      if (!this.#over) this.#control.send("Open", count);
    });
  }

  #pingIdle(number: number): void {
    const now = performance.now();
    for (const connection of [...this.#idle]) {
      if (now - connection.heard > this.#core.deadline) {
        connection.wire.reset();
        this.lost(connection, new ProtocolError("the data connection is silent"));
      } else if (now > connection.expires) {
        // Given up here and not by the target, which cannot know whether a consumer is on its way to it.
        this.lost(connection, new ProtocolError("the data connection is old"));
        connection.wire.reset();
      } else connection.ping(number);
    }
  }

  #message(message: Message): void {
    if (this.#pulse.received(message)) return;
    switch (message.name) {
      case "Moved":
        this.#successor = parseHostPort(message.value);
        this.#core.log.info("the target has moved on", { peer: this.peer, successor: message.value });
        this.#placeWaiting();
        return;
      case "Drain":
        this.#draining = true;
        this.#core.log.info("session drained by its target", { peer: this.peer, streams: this.streams });
        this.#stopTaking();
        return;
      default:
        throw new ProtocolError(`unexpected ${message.name} in a session`);
    }
  }

  #end(cause: Error | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#pulse.stop();
    this.#stopTaking();
    this.#core.closed(this, this.#draining ? undefined : cause);
    // Streams whose start nobody answers any more: those that lost nothing yet go elsewhere now, not after the answer's deadline.
    for (const [connection, { pipe }] of [...this.#starts]) {
      if (pipe.forth.bytes === 0) this.lost(connection, cause ?? new ProtocolError("the session ended"));
    }
  }

  /** Gives up the pool and sends waiting consumers elsewhere. */
  #stopTaking(): void {
    for (const connection of this.#idle.splice(0)) connection.wire.reset();
    this.#placeWaiting();
  }

  #placeWaiting(): void {
    for (const consumer of this.#waiting.items()) {
      this.#leave(consumer);
      this.#core.place(consumer);
    }
  }
}
