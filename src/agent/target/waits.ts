/** The waits of a loop, which something else can end early. */
export class Waits {
  #wake: (() => void) | undefined;
  #cut: AbortController | undefined;

  /** Ends a sleep. */
  wake(): void {
    this.#wake?.();
  }

  /** Ends a sleep, and leaves what `unlessUrgent` runs. */
  hurry(): void {
    this.#cut?.abort();
    this.wake();
  }

  async sleep(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, milliseconds);
    await promise;
    clearTimeout(timer);
    this.#wake = undefined;
  }

  /** Waits for `work`, which must not reject, until something is urgent: then its signal is aborted, and what becomes of it is its own affair. */
  async unlessUrgent(work: (cut: AbortSignal) => Promise<void>): Promise<void> {
    const cut = new AbortController();
    const urgent = Promise.withResolvers<void>();
    cut.signal.addEventListener("abort", () => urgent.resolve());
    this.#cut = cut;
    await Promise.race([work(cut.signal), urgent.promise]);
    this.#cut = undefined;
  }
}
