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

  /** To be called every now and then: gives up a quarter when more than a half was never needed since the last call. */
  settle(): void {
    if (this.#low > this.#size / 2) this.#size = Math.max(this.min, Math.floor(this.#size * 0.75));
    this.#low = this.#size;
  }

  #grow(wanted: number): void {
    this.#size = Math.min(this.max, Math.max(this.#size, wanted));
  }
}
