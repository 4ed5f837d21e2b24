import type { Wire } from "./wire.ts";

/**
 * What one read of a flow may bring. Bun reads up to 512 KiB at once, and a read whose receiver is slow has to wait in this process: with
 * a thousand streams that would be half a gigabyte. So a flow starts with a small receive buffer, smaller the more flows there are, and a
 * few that prove to be bulk transfers get the kernel's own, adaptive one, which a fast or long link needs. All together stays below 64 MiB.
 */
const limits = [
  { flows: 64, bytes: 64 * 1024, bulk: 24 },
  { flows: 128, bytes: 32 * 1024, bulk: 24 },
  { flows: 384, bytes: 16 * 1024, bulk: 4 },
  { flows: Number.POSITIVE_INFINITY, bytes: 8 * 1024, bulk: 2 },
] as const;

/** Milliseconds without a read after which a bulk flow makes room for another. */
const bulkIdle = 1000;

let flows = 0;
const bulk = new Set<ReadAllowance>();

/** What holds with the present number of flows: the limit of a new one, and how many may read as much as there is. */
function step(): { bytes: number; bulk: number } {
  return limits.find((limit) => flows <= limit.flows) ?? limits[3];
}

export class ReadAllowance {
  #wire: Wire;
  #limit: number;
  #lastRead = 0;
  #released = false;

  constructor(wire: Wire) {
    this.#wire = wire;
    flows += 1;
    this.#limit = step().bytes;
    wire.limitReads(this.#limit);
  }

  /** A read brought so many bytes: whether the flow is, or becomes by that, one of the bulk transfers. */
  isBulk(bytes: number): boolean {
    if (bytes * 2 < this.#limit) return false;
    if (bulk.has(this)) return this.staysBulk();
    const now = performance.now();
    if (!this.#makeRoom(now)) return false;
    this.#lastRead = now;
    return true;
  }

  /** Whether it is one of them and goes on: no longer when streams have become so many that there are fewer places. */
  staysBulk(): boolean {
    if (!bulk.has(this)) return false;
    this.#lastRead = performance.now();
    if (bulk.size <= step().bulk) return true;
    this.#leave();
    return false;
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    flows -= 1;
    bulk.delete(this);
  }

  #leave(): void {
    bulk.delete(this);
    this.#limit = step().bytes;
    this.#wire.limitReads(this.#limit);
  }

  #makeRoom(now: number): boolean {
    if (bulk.size >= step().bulk) {
      const idle = bulk.values().find((other) => now - other.#lastRead > bulkIdle);
      if (idle === undefined) return false;
      idle.#leave();
    }
    bulk.add(this);
    this.#wire.adaptReads();
    return true;
  }
}
