import type { Wire } from "./wire.ts";

/**
 * What one read of a flow may bring. Bun reads up to 512 KiB at once, and a read whose receiver is slow has to wait in this process: with
 * a thousand streams that would be half a gigabyte. So a flow starts with a small receive buffer, smaller the more flows there are, and a
 * few that prove to be bulk transfers get the kernel's own, adaptive one, which a fast or long link needs. All together stays below 64 MiB.
 */
const limits = [
  { flows: 64, bytes: 64 * 1024 },
  { flows: 256, bytes: 32 * 1024 },
  { flows: 1024, bytes: 16 * 1024 },
  { flows: Number.POSITIVE_INFINITY, bytes: 8 * 1024 },
] as const;

/** Flows that read as much as there is, at most. */
const maxBulk = 12;
/** Milliseconds without a read after which a bulk flow makes room for another. */
const bulkIdle = 1000;

let flows = 0;
const bulk = new Set<ReadAllowance>();

export class ReadAllowance {
  #wire: Wire;
  #limit: number;
  #lastRead = 0;
  #released = false;

  constructor(wire: Wire) {
    this.#wire = wire;
    flows += 1;
    this.#limit = limits.find((step) => flows <= step.flows)?.bytes ?? 0;
    wire.limitReads(this.#limit);
  }

  /** A read brought so many bytes: whether the flow is, or becomes by that, one of the bulk transfers. */
  isBulk(bytes: number): boolean {
    if (bytes * 2 < this.#limit) return false;
    const now = performance.now();
    if (!bulk.has(this) && !this.#makeRoom(now)) return false;
    this.#lastRead = now;
    return true;
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    flows -= 1;
    bulk.delete(this);
  }

  #makeRoom(now: number): boolean {
    if (bulk.size >= maxBulk) {
      const idle = bulk.values().find((other) => now - other.#lastRead > bulkIdle);
      if (idle === undefined) return false;
      bulk.delete(idle);
      idle.#wire.limitReads(idle.#limit);
    }
    bulk.add(this);
    this.#wire.adaptReads();
    return true;
  }
}
