import { Deadlines } from "../deadlines.ts";
import type { Wire, WireOwner } from "../net/wire.ts";
import type { Pipe } from "../pipe.ts";
import { encode } from "../protocol/messages.ts";

/** Milliseconds that the answer waits for the backend's first bytes, to share their write. */
const patience = 2;

const started = encode("Started", null);
const nothing = new Uint8Array(0);
const unanswered = new Deadlines<Answer>(patience, (answer) => {
  // A stream that was reset meanwhile has no wires any more.
  if (answer.wire.open) answer.attach(nothing);
});

/** Owns a backend's wire until the proxy has been told that it is connected. */
class Answer implements WireOwner {
  constructor(
    readonly wire: Wire,
    readonly pipe: Pipe,
  ) {}

  attach(first: Uint8Array): void {
    unanswered.delete(this);
    this.pipe.attach(this.pipe.back, first, started);
  }

  received(chunk: Uint8Array): void {
    this.attach(chunk);
  }

  drained(): void {
    this.pipe.back.drained();
  }

  ended(): void {
    // The wire may be closed already: both directions have ended before the answer was sent.
    this.attach(nothing);
    this.pipe.back.ended();
  }

  closed(cause: Error | undefined): void {
    // A backend that connects and resets was there: without the answer the proxy would take the reset for a lost connection and try again.
    this.attach(nothing);
    this.pipe.back.closed(cause);
  }
}

/** Tells the proxy that the backend (the right side of the pipe) is connected, together with its first bytes if they come at once. */
export function answerWithFirstBytes(pipe: Pipe): void {
  const { source } = pipe.back;
  const answer = new Answer(source, pipe);
  source.owner = answer;
  unanswered.add(answer);
}
