/** Bytes within one span of time from which on a flow is fast though it comes in small reads, and below which it is fast no more. */
const fast = 128 * 1024;
const slow = 32 * 1024;
/** Milliseconds. */
const span = 10;

/** How fast the bytes of a flow come. A flow that was found fast stays so until a whole span brought little. */
export class Pace {
  isFast = false;
  #since = 0;
  #bytes = 0;

  /** So many bytes have come. */
  add(bytes: number): void {
    const now = performance.now();
    if (now - this.#since > span) {
      this.isFast &&= this.#bytes >= slow;
      this.#since = now;
      this.#bytes = 0;
    }
    this.#bytes += bytes;
    this.isFast ||= this.#bytes >= fast;
  }
}
