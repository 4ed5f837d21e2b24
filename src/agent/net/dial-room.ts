import { type Attempt, connectWire } from "./connect.ts";
import { openFileLimit } from "./descriptors.ts";
import { DialError } from "./dial-error.ts";

/** Attempts to one place that may be on their way at once, however many descriptors there are. */
const maxAttempts = 2048;
/** The part of the descriptors that may be used for them: the rest is for what works. */
const share = 4;
/**
 * Milliseconds after which an attempt makes room for a new one: its first packet got no answer. A new one reaches a place that has just
 * come back at once, an old one only with the kernel's next repetition.
 */
const overdue = 1000;

/** Bounds the attempts to reach one place: one that is silent must not use up what other connections need. */
export class DialRoom {
  /** Attempts on their way, the oldest first, with the moment of their begin and what refuses them. */
  #running = new Map<Attempt, { since: number; refuse: (cause: DialError) => void }>();
  readonly #size: number;

  constructor(size: number = Math.max(1, Math.min(maxAttempts, Math.floor(openFileLimit() / share)))) {
    this.#size = size;
  }

  /** As `connectWire`; rejects with DialError `overload` when there is no room, or when the room is needed for a newer attempt. */
  connect(address: string, port: number): Attempt {
    const crowded = () =>
      new DialError("overload", `${this.#size} connections are on their way and nothing answers: no more are tried`);
    const [oldest] = this.#running;
    if (this.#running.size >= this.#size && oldest !== undefined) {
      const [attempt, { since, refuse }] = oldest;
      if (performance.now() - since < overdue) return { wire: Promise.reject(crowded()), giveUp() {} };
      this.#running.delete(attempt);
      refuse(crowded());
      attempt.giveUp();
    }
    const attempt = connectWire(address, port);
    const refusal = Promise.withResolvers<never>();
    this.#running.set(attempt, { since: performance.now(), refuse: refusal.reject });
    const leave = () => this.#running.delete(attempt);
    attempt.wire.then(leave, leave);
    return { wire: Promise.race([refusal.promise, attempt.wire]), giveUp: attempt.giveUp };
  }
}
