import type { MessageConnection } from "./message-connection.ts";
import type { Message } from "./messages.ts";

export interface PulseEvents {
  /** A ping of this number was sent. */
  beat(number: number): void;
  /** The peer is doubted from now on. */
  doubt?(): void;
  /** Called once, after a whole deadline of silence. */
  dead(): void;
}

/** Answered pings: tells how old the last sign of life of a peer is, and when it has been silent for too long. */
export class Pulse {
  /** Last measured round trip, milliseconds. */
  roundTrip: number | undefined;
  #heard = performance.now();
  #wasDoubted = false;
  #doubtAfter: number;
  #ticked = performance.now();
  #sent = { number: 0, at: 0 };
  #timer: Timer;
  #control: MessageConnection;

  /** `deadline` in milliseconds; a ping is sent three times in that span. */
  constructor(control: MessageConnection, deadline: number, { beat, doubt, dead }: PulseEvents) {
    this.#control = control;
    // Looks twice as often as it pings, so that a dead peer is noticed soon after its deadline.
    const interval = Math.max(10, deadline / 6);
    this.#doubtAfter = 2.5 * interval;
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
      if (this.isDoubted && !this.#wasDoubted) doubt?.();
      this.#wasDoubted = this.isDoubted;
      pings = !pings;
      if (!pings) return;
      this.#sent = { number: this.#sent.number + 1, at: now };
      control.send("Ping", this.#sent.number);
      beat(this.#sent.number);
    }, interval);
  }

  /** Milliseconds since the peer was heard of. */
  get silence(): number {
    return performance.now() - this.#heard;
  }

  /** Nothing has been heard for longer than answered pings leave between them. */
  get isDoubted(): boolean {
    return this.silence >= this.#doubtAfter;
  }

  /** Every message is a sign of life. True when this one is a ping or the answer to one: nothing is left to do about it then. */
  received(message: Message): boolean {
    this.#heard = performance.now();
    switch (message.name) {
      case "Ping":
        this.#control.send("Pong", message.value);
        return true;
      case "Pong":
        if (message.value === this.#sent.number) this.roundTrip = performance.now() - this.#sent.at;
        return true;
      default:
        return false;
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
