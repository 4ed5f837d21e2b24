/** What a socket has reported to a wire that is paused, in order: a paused TLS socket still reports what it has decrypted already. */
export class HeldBack {
  #reports: { report: () => void; bytes: number }[] = [];
  #isClosed = false;

  /** `total` counts the bytes that are held, with those of others. */
  constructor(readonly total: { buffered: number }) {}

  get isEmpty(): boolean {
    return this.#reports.length === 0;
  }

  add(report: () => void, bytes = 0): void {
    this.total.buffered += bytes;
    this.#reports.push({ report, bytes });
  }

  /** The last report: false when nothing is held that has to come before it. */
  close(report: () => void): boolean {
    if (this.isEmpty) return false;
    this.#isClosed = true;
    this.add(report);
    return true;
  }

  /** Reports one after the other, as long as somebody wants to hear it. */
  release(isWanted: () => boolean): void {
    while (isWanted()) {
      const next = this.#reports.shift();
      if (next === undefined) return;
      this.total.buffered -= next.bytes;
      next.report();
    }
  }

  /** Drops everything; true when the last report was among it. */
  forget(): boolean {
    for (const { bytes } of this.#reports.splice(0)) this.total.buffered -= bytes;
    return this.#isClosed;
  }
}
