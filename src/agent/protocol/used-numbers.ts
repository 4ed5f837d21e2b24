/** Numbers that were used, each accepted once. Only a window below the highest is remembered: anything older counts as used. */
export class UsedNumbers {
  #used = new Set<number>();
  #highest = 0;
  #floor = -1;

  constructor(readonly window = 4096) {}

  /** True the first time a number is shown. */
  use(number: number): boolean {
    if (number <= this.#floor || this.#used.has(number)) return false;
    this.#used.add(number);
    this.#highest = Math.max(this.#highest, number);
    if (this.#used.size > 2 * this.window) {
      this.#floor = Math.max(this.#floor, this.#highest - this.window);
      for (const old of this.#used) if (old <= this.#floor) this.#used.delete(old);
    }
    return true;
  }
}
