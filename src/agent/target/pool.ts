import { type Backoff, makeBackoff } from "../backoff.ts";
import { hasRoomFor } from "../net/listen.ts";
import { tunnelKeepAlive } from "../net/socket-options.ts";
import type { Way } from "../net/way.ts";
import type { Wire } from "../net/wire.ts";
import { challengeInstance, parseUuid } from "../protocol/challenge.ts";
import { MessageConnection } from "../protocol/message-connection.ts";
import { type Message, type Messages, ProtocolError } from "../protocol/messages.ts";
import { bound, joinProof, type Key, matches, startProof, toHex } from "../protocol/proofs.ts";
import { openDataConnection } from "./open-data-connection.ts";
import { PoolSize } from "./pool-size.ts";

/** Data connections being opened at once; more wait for their turn. */
const maxOpening = 256;
/** Milliseconds until a new data connection must be in the pool. */
const openTimeout = 5000;

export interface PoolOptions {
  /** Address and port of the proxy that the session is with, and how to get there. */
  address: string;
  port: number;
  way: Way;
  /** Inside TLS, as the session is. */
  encrypted: boolean;
  /** The proxy's process, from its challenge. */
  instance: number;
  session: string;
  key: Key;
  min: number;
  max: number;
  /** Milliseconds of silence after which an idle connection is dead. */
  deadline: number;
  /** A consumer was handed to a connection. */
  start(wire: Wire, start: Messages["Start"], firstBytes: Uint8Array): void;
  /** The proxy's address leads to a process that does not know the session. */
  strayed(): void;
}

/** A connection of the pool, from its dial until a consumer takes it. */
interface Pooled {
  connection: MessageConnection;
  number: number;
  heard: number;
  /** The proxy has shown that it took the connection into its pool. */
  joined: boolean;
}

/** A target's idle data connections to one proxy. */
export class TargetPool {
  readonly size: PoolSize;
  #options: PoolOptions;
  #connections = new Set<Pooled>();
  #opening = 0;
  #owed = 0;
  #number = 0;
  #closed = false;
  #backoff: Backoff = makeBackoff({ first: 100, cap: 5000, random: Math.random });
  #retry: Timer | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.size = new PoolSize(options.min, options.max);
  }

  get idle(): number {
    return this.#connections.size;
  }

  get opening(): number {
    return this.#opening;
  }

  /** Opens what is missing. */
  fill(): void {
    if (this.#closed || this.#retry !== undefined) return;
    while (this.#opening < maxOpening && (this.#owed > 0 || this.#lacksIdle())) {
      this.#owed = Math.max(0, this.#owed - 1);
      void this.#open();
    }
  }

  /** An idle connection is worth nothing without a descriptor for its backend, and must not take that of a consumer which is being served. */
  #lacksIdle(): boolean {
    const idle = this.#connections.size + this.#opening;
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
    for (const pooled of [...this.#connections]) {
      if (pooled.heard < since) pooled.connection.fail(new ProtocolError("the data connection is silent"));
    }
    this.fill();
  }

  /** Opens nothing more; idle connections stay until the proxy closes them. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
  }

  reset(): void {
    this.close();
    for (const { connection } of this.#connections) connection.reset();
    this.#connections.clear();
  }

  async #open(): Promise<void> {
    const { address, port, way, encrypted, session, key } = this.#options;
    this.#opening += 1;
    try {
      const wire = await openDataConnection({ address, port, way, encrypted }, openTimeout);
      if (this.#closed) {
        wire.reset();
        return;
      }
      this.#number += 1;
      this.#add(wire, this.#number).connection.send("Join", {
        session,
        number: this.#number,
        proof: toHex(joinProof(bound(key, wire.binding), this.#number)),
      });
    } catch {
      // The control connection notices a proxy that is gone; here it is enough not to insist.
      this.#retryLater();
    } finally {
      this.#opening -= 1;
    }
  }

  #retryLater(): void {
    if (this.#closed) return;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.fill();
    }, this.#backoff.next());
  }

  #add(wire: Wire, number: number): Pooled {
    const pooled: Pooled = {
      number,
      heard: performance.now(),
      joined: false,
      connection: new MessageConnection(wire, {
        message: (message) => this.#message(pooled, message),
        over: () => this.#remove(pooled),
      }),
    };
    wire.keepAlive(tunnelKeepAlive);
    this.#connections.add(pooled);
    return pooled;
  }

  #remove(pooled: Pooled): void {
    this.#connections.delete(pooled);
    // One that never joined says that something is wrong over there; others were used up or aged out.
    if (pooled.joined) this.fill();
    else this.#retryLater();
  }

  #message(pooled: Pooled, message: Message): void {
    pooled.heard = performance.now();
    switch (message.name) {
      case "Challenge":
        if (challengeInstance(parseUuid(message.value)) !== this.#options.instance) this.#stray(pooled);
        return;
      case "Ping":
        // Only a connection of the pool is pinged.
        pooled.joined = true;
        this.#backoff.reset();
        pooled.connection.send("Pong", message.value);
        return;
      case "Start":
        this.#start(pooled, message.value);
        return;
      case "Error":
        this.#stray(pooled);
        return;
      default:
        throw new ProtocolError(`unexpected ${message.name} on a data connection`);
    }
  }

  #start(pooled: Pooled, start: Messages["Start"]): void {
    const key = bound(this.#options.key, pooled.connection.wire.binding);
    if (!matches(startProof(key, pooled.number), start.proof)) {
      throw new ProtocolError("the proxy does not know the session's key");
    }
    this.#backoff.reset();
    this.#connections.delete(pooled);
    this.size.used(this.idle);
    const { wire, rest } = pooled.connection.release();
    this.#options.start(wire, start, rest);
    this.fill();
  }

  #stray(pooled: Pooled): void {
    pooled.connection.fail(new ProtocolError("another proxy answers at this address"));
    this.#options.strayed();
  }
}
