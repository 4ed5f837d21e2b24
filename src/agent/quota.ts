/** Keeps repeated log lines bounded: some at once, then so many a second; what was left out is counted. */
export class Quota {
  #tokens: number;
  #filled = performance.now();
  #suppressed = 0;

  constructor(
    readonly burst: number,
    readonly perSecond: number,
  ) {
    this.#tokens = burst;
  }

  /** Calls `write` with the number of lines left out since the last one, unless the quota is used up. */
  spend(write: (suppressed: number | undefined) => void): void {
    const now = performance.now();
    this.#tokens = Math.min(this.burst, this.#tokens + ((now - this.#filled) / 1000) * this.perSecond);
    this.#filled = now;
    if (this.#tokens < 1) {
      this.#suppressed += 1;
      return;
    }
    this.#tokens -= 1;
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    write(suppressed === 0 ? undefined : suppressed);
  }
}
