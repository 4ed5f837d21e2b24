import type { HostPort } from "../../endpoint.ts";
import { type Backoff, makeBackoff } from "../backoff.ts";
import { hasRoomFor } from "../net/listen.ts";
import { tunnelKeepAlive } from "../net/socket-options.ts";
import type { Way } from "../net/way.ts";
import { challengeInstance, parseUuid } from "../protocol/challenge.ts";
import type { Channel } from "../protocol/channel.ts";
import { DataConnection, type DataConnectionOwner } from "../protocol/data-connection.ts";
import { encode, type Message, ProtocolError } from "../protocol/messages.ts";
import { bound, joinProof, type Key, startProof, toHex } from "../protocol/proofs.ts";
import { openDataConnection } from "./open-data-connection.ts";
import { PoolSize } from "./pool-size.ts";

/** Data connections being opened at once; more wait for their turn. */
const maxOpening = 256;
/** Milliseconds until a new data connection must be in the pool. */
const openTimeout = 5000;
/** The same at another place than where the session was opened, which perhaps cannot be reached from here. */
const elsewhereTimeout = 2000;

export interface PoolOptions {
  /** Where the proxy that the session is with was reached, and where else it can be; and how to get there. */
  places: readonly [HostPort, ...HostPort[]];
  way: Way;
  /** Inside TLS, as the session is. */
  encrypted: boolean;
  /** The proxy's process, from its challenge. */
  instance: number;
  /** Of the extension, that both know. */
  revision: 1 | 2;
  session: string;
  key: Key;
  min: number;
  max: number;
  /** Milliseconds of silence after which an idle connection is dead. */
  deadline: number;
  /** A consumer was given to a connection. */
  start(channel: Channel, consumer: { from: string; to: string }): void;
  /** The proxy's address leads to a process that does not know the session. */
  strayed(): void;
}

/** A target's data connections to one proxy: those that are idle, and how many there should be. */
export class TargetPool implements DataConnectionOwner {
  readonly size: PoolSize;
  #options: PoolOptions;
  /** Those that carry no stream. */
  #idle = new Set<DataConnection>();
  /** Connections that the proxy has taken into its pool, as it has shown. */
  #joined = new WeakSet<DataConnection>();
  /** The place that is dialled, and those of the connections that have not joined yet. */
  #place: HostPort;
  #dialled = new WeakMap<DataConnection, HostPort>();
  #opening = 0;
  #owed = 0;
  #number = 0;
  #closed = false;
  #over = false;
  #backoff: Backoff = makeBackoff({ first: 100, cap: 5000, random: Math.random });
  #retry: Timer | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#place = options.places[0];
    this.size = new PoolSize(options.min, options.max);
  }

  get idle(): number {
    return this.#idle.size;
  }

  get opening(): number {
    return this.#opening;
  }

  /** Opens what is missing. */
  fill(): void {
    if (this.#closed || this.#retry !== undefined) return;
    while (this.#opening < maxOpening && (this.#isOwed() || this.#lacksIdle())) {
      this.#owed = Math.max(0, this.#owed - 1);
      void this.#open();
    }
  }

  /** A connection is worth nothing without a descriptor for its backend; but one there must be, by which consumers learn that there are none. */
  #isOwed(): boolean {
    const idle = this.#idle.size + this.#opening;
    return this.#owed > 0 && (idle === 0 || hasRoomFor(idle + 2));
  }

  /** An idle one must not take a descriptor from a consumer that is being served. */
  #lacksIdle(): boolean {
    const idle = this.#idle.size + this.#opening;
    return idle < this.size.size && hasRoomFor(idle + 3);
  }

  /** `count` consumers wait at the proxy for a connection. */
  want(count: number): void {
    this.size.missed(count);
    this.#owed = Math.min(this.#owed + count, 4 * maxOpening);
    this.fill();
  }

  /** Drops idle connections that the proxy has not pinged for a whole deadline. */
  check(): void {
    const since = performance.now() - this.#options.deadline;
    for (const connection of [...this.#idle]) {
      if (connection.lastHeard < since) connection.fail(new ProtocolError("the data connection is silent"));
    }
    this.fill();
  }

  /** The first place is known to lead to another proxy. */
  avoid(): void {
    const { places } = this.#options;
    if (this.#place === places[0]) this.#place = places[1] ?? places[0];
  }

  /** Opens nothing more; idle connections stay until the proxy closes them. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
  }

  /** Closes all that carry no stream, now or later. */
  end(): void {
    this.close();
    this.#over = true;
    for (const connection of this.#idle) connection.close();
    this.#idle.clear();
  }

  async #open(): Promise<void> {
    const { places, way, encrypted, session, key: sessionKey, revision } = this.#options;
    const place = this.#place;
    const timeout = place === places[0] ? openTimeout : elsewhereTimeout;
    this.#opening += 1;
    let isMissed = false;
    try {
      const wire = await openDataConnection({ place, way, encrypted }, timeout);
      if (this.#closed) {
        wire.reset();
        return;
      }
      this.#number += 1;
      const number = this.#number;
      const key = bound(sessionKey, wire.binding);
      wire.keepAlive(tunnelKeepAlive);
      const connection = new DataConnection(
        wire,
        revision,
        (stream) => startProof(key, revision, number, stream),
        this,
      );
      this.#idle.add(connection);
      this.#dialled.set(connection, place);
      const proof = toHex(joinProof(key, revision, number));
      wire.write(encode("Join", { session, number, proof, ...(revision === 2 && { frames: true }) }));
    } catch {
      isMissed = true;
    } finally {
      this.#opening -= 1;
    }
    if (isMissed) this.#missed(place);
  }

  /**
   * A connection to that place came to nothing: the proxy is gone, which the control connection notices, or the place leads to another proxy now. Then the next
   * place is tried at once; when all have been, it is enough not to insist.
   */
  #missed(place: HostPort): void {
    const { places } = this.#options;
    if (place === this.#place) {
      this.#place = places[places.indexOf(place) + 1] ?? places[0];
      if (this.#place === places[0]) this.#retryLater();
    }
    this.fill();
  }

  #retryLater(): void {
    if (this.#closed) return;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.fill();
    }, this.#backoff.next());
  }

  heard(connection: DataConnection): void {
    // Only a connection of the pool is pinged.
    this.#joined.add(connection);
    this.#backoff.reset();
  }

  start(connection: DataConnection, channel: Channel, consumer: { from: string; to: string }): void {
    this.heard(connection);
    this.#idle.delete(connection);
    this.size.used(this.idle);
    this.#options.start(channel, consumer);
    this.fill();
  }

  free(connection: DataConnection): void {
    if (this.#over) connection.close();
    else this.#idle.add(connection);
  }

  lost(connection: DataConnection): void {
    this.#idle.delete(connection);
    // One that never joined says that something is wrong over there; others were used up or aged out.
    if (this.#joined.has(connection)) this.fill();
    else this.#missed(this.#dialled.get(connection) ?? this.#place);
  }

  stray(connection: DataConnection, message: Message): void {
    const { instance, strayed } = this.#options;
    if (message.name === "Challenge" && challengeInstance(parseUuid(message.value)) === instance) return;
    if (message.name !== "Challenge" && message.name !== "Error") {
      throw new ProtocolError(`unexpected ${message.name} on a data connection`);
    }
    connection.fail(new ProtocolError("another proxy answers at this address"));
    strayed();
  }

  started(): void {
    throw new ProtocolError("an answer from the proxy");
  }

  refused(): void {
    throw new ProtocolError("an answer from the proxy");
  }
}
