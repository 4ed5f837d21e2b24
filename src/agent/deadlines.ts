/** Things that all get the same time, in the order in which they came: one timer for any number of them. */
export class Deadlines<Item> {
  #due = new Map<Item, number>();
  #timer: Timer | undefined;

  /** `timeout` in milliseconds; `expired` is called once for each item that is still there then. */
  constructor(
    readonly timeout: number,
    readonly expired: (item: Item) => void,
  ) {}

  get size(): number {
    return this.#due.size;
  }

  get oldest(): Item | undefined {
    return this.#due.keys().next().value;
  }

  has(item: Item): boolean {
    return this.#due.has(item);
  }

  add(item: Item): void {
    this.#due.set(item, performance.now() + this.timeout);
    this.#timer ??= setTimeout(() => this.#tick(), this.timeout);
  }

  /** True when the item was there. */
  delete(item: Item): boolean {
    return this.#due.delete(item);
  }

  items(): Item[] {
    return [...this.#due.keys()];
  }

  clear(): void {
    this.#due.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    const now = performance.now();
    this.#timer = undefined;
    try {
      for (const [item, due] of this.#due) {
        if (due > now) break;
        this.#due.delete(item);
        this.expired(item);
      }
    } finally {
      // Also after an exception: the others must not wait for ever.
      const [next] = this.#due.values();
      if (next !== undefined) this.#timer ??= setTimeout(() => this.#tick(), Math.max(1, next - performance.now()));
    }
  }
}
