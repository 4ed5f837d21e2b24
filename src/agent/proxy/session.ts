import { formatHostPort, type HostPort, parseHostPort } from "../../endpoint.ts";
import type { StreamResult } from "../../metrics.ts";
import { Deadlines } from "../deadlines.ts";
import { dialTimeout } from "../net/dial.ts";
import { tunnelKeepAlive } from "../net/socket-options.ts";
import type { Wire } from "../net/wire.ts";
import { Channel } from "../protocol/channel.ts";
import { DataConnection, type DataConnectionOwner } from "../protocol/data-connection.ts";
import type { Refusal } from "../protocol/frames.ts";
import type { MessageConnection } from "../protocol/message-connection.ts";
import { type Message, type Messages, ProtocolError } from "../protocol/messages.ts";
import { bound, joinProof, matches, startProof } from "../protocol/proofs.ts";
import { Pulse } from "../protocol/pulse.ts";
import { UsedNumbers } from "../protocol/used-numbers.ts";
import { type Stream, StreamError, type StreamHolder } from "../stream.ts";
import { IdleConnections } from "./idle-connections.ts";
import type { ProxyCore, ProxySession, SessionIdentity } from "./proxy-core.ts";

/** Starts of one stream before it is given up: each cost a connection that died under it. */
const maxStarts = 4;

/**
 * Milliseconds from the news that the target has a session with another proxy until this one is not ready any more. The other one is ready within two or
 * three seconds; after fifteen the target takes nothing more from here, and by then no node may send consumers here.
 */
const leftAfter = 5000;

const results: readonly string[] = [
  "refused",
  "unreachable",
  "unresolved",
  "timeout",
  "overload",
] satisfies StreamResult[];

/** What a target gave as the result of a start. The word of a newer target may be unknown here. */
function knownResult(result: string): StreamResult {
  return results.includes(result) ? (result as StreamResult) : "refused";
}

/** A session with a netaminity target: a control connection and a pool of idle data connections. */
export class NetaminitySession implements ProxySession, DataConnectionOwner, StreamHolder {
  readonly peer: string;
  readonly encrypted: boolean;
  streams = 0;
  #core: ProxyCore;
  #control: MessageConnection;
  #pulse: Pulse;
  #draining = false;
  #over = false;
  #numbers = new UsedNumbers();
  #idle: IdleConnections;
  #waiting: Deadlines<Stream>;
  /** Streams that were given to a data connection and have no answer of the target yet. */
  #starts = new Map<Channel, Stream>();
  #answers: Deadlines<Channel>;
  #wanted = 0;
  /** Where the target has another session now. Data connections of this one are hard to come by. */
  #successor: HostPort | undefined;
  #movedAt = Number.POSITIVE_INFINITY;

  constructor(
    core: ProxyCore,
    control: MessageConnection,
    readonly identity: SessionIdentity,
  ) {
    this.#core = core;
    this.#control = control;
    this.#idle = new IdleConnections(core.deadline);
    this.encrypted = identity.encrypted;
    this.peer = formatHostPort(control.wire.remote);
    this.#waiting = new Deadlines(core.deadline, (stream) =>
      stream.fail(new StreamError("lost", "no data connection came in time")),
    );
    // Longer than the target's own limit for dialling, whatever the deadline is, so that its reason arrives first.
    this.#answers = new Deadlines(dialTimeout + core.deadline, ({ carrier }) =>
      carrier.fail(new ProtocolError("the target did not answer the start in time")),
    );
    this.#pulse = new Pulse(control, core.deadline, {
      beat: (number) => this.#idle.check(number),
      // The target has to learn of it: when it is heard again, it must not take this session for alive.
      dead: () => control.fail(new ProtocolError("the target is silent")),
    });
    control.wire.keepAlive(tunnelKeepAlive);
  }

  begin(): void {
    this.#control.handOver({ message: (message) => this.#message(message), over: (cause) => this.#end(cause) });
  }

  get available(): boolean {
    return !this.#draining && !this.#over && this.#pulse.silence < this.#core.deadline;
  }

  get left(): boolean {
    return performance.now() - this.#movedAt >= leftAfter;
  }

  get idle(): number {
    return this.#idle.size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get roundTrip(): number | undefined {
    return this.#pulse.roundTrip;
  }

  take(stream: Stream): void {
    const connection = this.#idle.takeFresh();
    if (connection === undefined && this.#successor !== undefined && !stream.isHandedOver) {
      this.#core.handOver(stream, this.#successor, this.encrypted);
      return;
    }
    this.streams += 1;
    if (connection !== undefined) {
      this.#core.metrics.poolHits.inc();
      this.#begin(connection, stream);
      return;
    }
    this.#core.metrics.poolMisses.inc();
    stream.wait(this);
    this.#waiting.add(stream);
    this.#idle.askNewest();
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
  join(wire: Wire, { number, proof, frames }: Messages["Join"]): boolean {
    const revision = frames ? 2 : 1;
    // Only frames have an end that nobody between can make.
    if (wire.isSecure !== this.encrypted || (wire.isSecure && revision === 1)) return false;
    const key = bound(this.identity.key, wire.binding);
    if (!matches(joinProof(key, revision, number), proof) || !this.#numbers.use(number)) return false;
    if (this.#draining || this.#over || this.#idle.isFull) {
      wire.reset();
      return true;
    }
    const proofOf = (stream: number) => startProof(key, revision, number, stream);
    this.free(new DataConnection(wire, revision, proofOf, this));
    return true;
  }

  heard(connection: DataConnection): void {
    if (this.#waiting.size > 0 && this.#idle.remove(connection)) this.free(connection);
  }

  free(connection: DataConnection): void {
    const stream = this.#waiting.oldest;
    if (this.#draining || this.#over) connection.close();
    else if (stream === undefined) {
      if (this.#idle.isFull) connection.close();
      else this.#idle.add(connection);
    } else {
      this.#waiting.delete(stream);
      this.#begin(connection, stream);
    }
  }

  started(channel: Channel): void {
    const stream = this.#forget(channel);
    if (stream !== undefined) this.#core.metrics.startSeconds.observe(stream.age / 1000);
  }

  refused(channel: Channel, { result, reason }: Refusal): void {
    this.#forget(channel)?.fail(new StreamError(knownResult(result), `target: ${reason}`));
  }

  lost(connection: DataConnection, cause: Error, channel: Channel | undefined): void {
    this.#idle.remove(connection);
    const stream = channel === undefined ? undefined : this.#forget(channel);
    if (stream === undefined) return;
    this.#idle.doubt();
    stream.lostStarts += 1;
    if (stream.forth.isUntouched && stream.lostStarts < maxStarts) {
      this.#leave(stream);
      this.#core.metrics.moved.inc();
      this.#core.place(stream);
    } else {
      // Some of its bytes may have reached the backend, so they must not go anywhere else.
      stream.fail(new StreamError("lost", `start: ${cause.message}`));
    }
  }

  start(): void {
    throw new ProtocolError("a start from the target");
  }

  stray(_connection: DataConnection, { name }: Message): void {
    throw new ProtocolError(`unexpected ${name} on a data connection`);
  }

  ended(stream: Stream): void {
    this.#waiting.delete(stream);
    const right = stream.back?.source;
    if (right instanceof Channel) this.#forget(right);
    this.streams -= 1;
  }

  #begin(connection: DataConnection, stream: Stream): void {
    const { from = "", to = "" } = stream;
    const channel = connection.begin({ from, to });
    stream.holder = this;
    this.#starts.set(channel, stream);
    this.#answers.add(channel);
    stream.join(channel);
    channel.flush();
  }

  #forget(channel: Channel): Stream | undefined {
    const stream = this.#starts.get(channel);
    this.#starts.delete(channel);
    this.#answers.delete(channel);
    return stream;
  }

  /** The stream is not this session's any more. */
  #leave(stream: Stream): void {
    this.#waiting.delete(stream);
    this.streams -= 1;
    stream.leave();
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

  #message(message: Message): void {
    if (this.#pulse.received(message)) return;
    switch (message.name) {
      case "Moved":
        this.#successor = parseHostPort(message.value);
        this.#movedAt = performance.now();
        this.#core.log.info("the target has moved on", { peer: this.peer, successor: message.value });
        this.#placeWaiting();
        return;
      case "Shed":
        this.#idle.shed(message.value);
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
    // Starts that nobody answers any more: those that lost nothing yet go elsewhere now, not after the answer's deadline.
    for (const [{ carrier }, stream] of [...this.#starts]) {
      if (stream.forth.isUntouched) carrier.fail(cause ?? new ProtocolError("the session ended"));
    }
  }

  /** Gives up the pool and sends waiting consumers elsewhere. */
  #stopTaking(): void {
    this.#idle.closeAll();
    this.#placeWaiting();
  }

  #placeWaiting(): void {
    for (const stream of this.#waiting.items()) {
      this.#leave(stream);
      this.#core.place(stream);
    }
  }
}
