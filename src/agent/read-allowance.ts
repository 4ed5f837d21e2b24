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
];
const limitOfMany = { bytes: 8 * 1024, bulk: 2 };

/** Milliseconds without a read after which a bulk flow makes room for another. */
const bulkIdle = 1000;

let flows = 0;
const bulk = new Set<ReadAllowance>();

/** What holds with the present number of flows: the limit of a new one, and how many may read as much as there is. */
function step(): { bytes: number; bulk: number } {
  return limits.find((limit) => flows <= limit.flows) ?? limitOfMany;
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

  /** A read brought so many bytes. True when that was about all it could bring: more is likely to wait, and the flow gets a place if one is free. */
  isLarge(bytes: number): boolean {
    if (bytes * 2 < this.#limit) return false;
    if (bulk.has(this)) this.goesOn();
    else this.#makeRoom();
    return true;
  }

  /** The transfer goes on. It loses its place when streams have become so many that there are fewer of them. */
  goesOn(): void {
    if (!bulk.has(this)) return;
    this.#lastRead = performance.now();
    if (bulk.size > step().bulk) this.#leave();
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

  #makeRoom(): void {
    const now = performance.now();
    if (bulk.size >= step().bulk) {
      const idle = bulk.values().find((other) => now - other.#lastRead > bulkIdle);
      if (idle === undefined) return;
      idle.#leave();
    }
    this.#lastRead = now;
    bulk.add(this);
    this.#wire.adaptReads();
  }
}
