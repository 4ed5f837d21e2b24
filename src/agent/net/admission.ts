/** Bytes that Bun may read at once (LIBUS_RECV_BUFFER_LENGTH of 1.4.5): what the sink does not take of them has to be kept. */
const oneRead = 512 * 1024;
/** Milliseconds after which one more may read whatever is held: others may hold it for ever. */
const patience = 4;

/**
 * Sources that only Bun can read, because they are framed or encrypted, while this process holds much: they take turns, so that it does not hold a
 * whole read of each.
 */
export class Admission<Source> {
  #waiting = new Set<Source>();
  #last = 0;

  get size(): number {
    return this.#waiting.size;
  }

  add(source: Source): void {
    this.#waiting.add(source);
  }

  delete(source: Source): void {
    this.#waiting.delete(source);
  }

  /** Takes out those that may read now: as many as the `room` in bytes is for, and one at least after a while. */
  admit(room: number): Source[] {
    const now = performance.now();
    const count = Math.max(Math.floor(room / oneRead), now - this.#last >= patience ? 1 : 0);
    if (count === 0 || this.#waiting.size === 0) return [];
    this.#last = now;
    const admitted = [...this.#waiting.values().take(count)];
    for (const source of admitted) this.#waiting.delete(source);
    return admitted;
  }
}
