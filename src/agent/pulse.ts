/** Answered pings: tells how old the last sign of life of a peer is, and when it has been silent for too long. */
export class Pulse {
  /** Last measured round trip, milliseconds. */
  roundTrip: number | undefined;
  #heard = performance.now();
  #ticked = performance.now();
  #sent = { number: 0, at: 0 };
  #timer: Timer;

  /** `deadline` in milliseconds; `ping` is called three times in that span, `dead` once, after a whole deadline of silence. */
  constructor(
    readonly deadline: number,
    ping: (number: number) => void,
    dead: () => void,
  ) {
    // Looks twice as often as it pings, so that a dead peer is noticed soon after its deadline.
    const interval = Math.max(10, deadline / 6);
    let pings = false;
    this.#timer = setInterval(() => {
      const now = performance.now();
      // Were we stopped ourselves, the peer's answers are still unread: give it one more interval.
      if (now - this.#ticked > 4 * interval) this.#heard = Math.max(this.#heard, now - deadline + 2 * interval);
      this.#ticked = now;
      if (this.silence >= deadline) {
        this.stop();
        dead();
        return;
      }
      pings = !pings;
      if (!pings) return;
      this.#sent = { number: this.#sent.number + 1, at: now };
      ping(this.#sent.number);
    }, interval);
  }

  /** Milliseconds since the peer was heard of. */
  get silence(): number {
    return performance.now() - this.#heard;
  }

  heard(): void {
    this.#heard = performance.now();
  }

  /** The peer answered ping `number`. */
  answered(number: number): void {
    this.heard();
    if (number === this.#sent.number) this.roundTrip = performance.now() - this.#sent.at;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
