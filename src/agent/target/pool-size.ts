/** How many idle data connections a target keeps: follows demand between two bounds. */
export class PoolSize {
  #size: number;
  #low: number;

  constructor(
    readonly min: number,
    readonly max: number,
  ) {
    this.#size = min;
    this.#low = min;
  }

  get size(): number {
    return this.#size;
  }

  /** A connection was used and `left` are idle still. An empty pool was too small. */
  used(left: number): void {
    this.#low = Math.min(this.#low, left);
    if (left === 0) this.#grow(this.#size * 2);
  }

  /** `count` consumers found no idle connection. */
  missed(count: number): void {
    this.#low = 0;
    this.#grow(this.#size + count);
  }

  /**
   * To be called every now and then, with the number of idle connections: gives up a quarter when more than a half was never needed since the last call.
   * Returns how many connections were in excess all the time: those that came back from a crowd of streams.
   */
  settle(idle: number): number {
    const low = Math.min(this.#low, idle);
    const excess = Math.max(0, low - this.#size);
    if (low > this.#size / 2) this.#size = Math.max(this.min, Math.floor(this.#size * 0.75));
    this.#low = idle;
    return excess;
  }

  #grow(wanted: number): void {
    this.#size = Math.min(this.max, Math.max(this.#size, wanted));
  }
}
