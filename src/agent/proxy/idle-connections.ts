import type { DataConnection } from "../protocol/data-connection.ts";
import { ProtocolError } from "../protocol/messages.ts";

/** Milliseconds after which a connection is given up when it is idle: routers and load balancers forget old ones. */
const lifetime = 300_000;
/** The part of the deadline within which one that was heard of is not asked; the next look comes before that is stale. */
const heardShare = 12;
/** Data connections a target may keep idle at a proxy; a sane one never comes near. */
const maxIdle = 1024;

/** Data connections of one session that carry no stream, the last used at the end: that is taken first, so that those in excess are never used. */
export class IdleConnections {
  #connections: DataConnection[] = [];
  /** The `performance.now()` from when on each is given up; spread, so that a pool does not age all at once. */
  #expiry = new WeakMap<DataConnection, number>();

  /** `deadline`: milliseconds of silence after which one is dead. */
  constructor(readonly deadline: number) {}

  get size(): number {
    return this.#connections.length;
  }

  get isFull(): boolean {
    return this.size >= maxIdle;
  }

  add(connection: DataConnection): void {
    if (!this.#expiry.has(connection)) {
      this.#expiry.set(connection, performance.now() + lifetime * (0.75 + Math.random() / 4));
    }
    this.#connections.push(connection);
  }

  /** True when it was there. */
  remove(connection: DataConnection): boolean {
    const at = this.#connections.lastIndexOf(connection);
    if (at >= 0) this.#connections.splice(at, 1);
    return at >= 0;
  }

  /** One that may be used without asking: its last sign of life is fresh. */
  takeFresh(): DataConnection | undefined {
    const since = performance.now() - this.deadline / 2;
    const at = this.#connections.findLastIndex((connection) => connection.isFresh(since));
    return at < 0 ? undefined : this.#connections.splice(at, 1)[0];
  }

  /** Pings the one that is likeliest to be there still. */
  askNewest(): void {
    this.#connections.at(-1)?.ping(0);
  }

  /** One of the session has died without notice, so the others may have died as well. */
  doubt(): void {
    for (const connection of this.#connections) connection.doubt();
  }

  /** Gives up so many, those that were not used for the longest. Here and not at the target, which cannot know whether a consumer is on its way to one. */
  shed(count: number): void {
    for (const connection of this.#connections.splice(0, count)) connection.close();
  }

  closeAll(): void {
    this.shed(this.size);
  }

  /** Drops what is silent, gives up what is old, and pings the others. */
  check(number: number): void {
    const now = performance.now();
    for (const connection of [...this.#connections]) {
      if (now - connection.lastHeard > this.deadline) {
        connection.fail(new ProtocolError("the data connection is silent"));
      } else if (now > (this.#expiry.get(connection) ?? 0)) {
        this.remove(connection);
        connection.close();
      } else if (now - connection.lastHeard > this.deadline / heardShare) connection.ping(number);
    }
  }
}
