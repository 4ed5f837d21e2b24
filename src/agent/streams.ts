import { errorText } from "../errors.ts";
import type { Log } from "../log.ts";
import type { AgentMetrics, StreamResult } from "../metrics.ts";
import { Pipe, type PipeEnd } from "./pipe.ts";
import { Quota } from "./quota.ts";
import type { Wire } from "./wire.ts";

/** A stream did not come about or was cut by this program; `result` says in one word why. */
export class StreamError extends Error {
  override readonly name = "StreamError";

  constructor(
    readonly result: StreamResult,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** What is known of a stream beside its bytes. */
export interface StreamFacts {
  /** Number of the stream in this process. */
  stream: number;
  /** The consumer, `host:port`, as far as it is known. */
  peer: string | undefined;
  /** `performance.now()` at its beginning. */
  since: number;
}

/** All streams of a role: their number, their end in log and metrics, and the wait for the last one. */
export class Streams {
  #running = new Set<Pipe>();
  #waiting: (() => void)[] = [];
  #lines = new Quota(20, 5);
  #log: Log;
  #metrics: AgentMetrics;

  constructor(log: Log, metrics: AgentMetrics) {
    this.#log = log;
    this.#metrics = metrics;
    metrics.gauge("streams_open", "Streams that are running now.", () => this.#running.size);
  }

  get size(): number {
    return this.#running.size;
  }

  /** Joins the consumer's side (left) and the backend's side (right). Neither direction runs before the caller attaches it. */
  open(left: Wire, right: Wire, facts: StreamFacts, over: () => void): Pipe {
    const totals = { forth: this.#metrics.toBackend, back: this.#metrics.toConsumer };
    const pipe = new Pipe(left, right, totals, (end) => {
      this.#remove(pipe);
      this.#report(facts, end, pipe);
      over();
    });
    this.#running.add(pipe);
    return pipe;
  }

  /** Forgets a stream whose start is going to be tried again with other wires. */
  abandon(pipe: Pipe): void {
    pipe.abandon();
    this.#remove(pipe);
  }

  /** A consumer that never became a stream. */
  failed(facts: StreamFacts, cause: StreamError): void {
    this.#report(facts, { cause, left: false });
  }

  /** Waits until no stream runs, `timeout` milliseconds at most, then resets the rest. */
  async drain(timeout: number): Promise<void> {
    if (this.#running.size > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeout);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    this.reset(new StreamError("drained", "still running at the end of the drain"));
  }

  reset(cause: StreamError): void {
    for (const pipe of [...this.#running]) pipe.reset(cause);
  }

  #remove(pipe: Pipe): void {
    this.#running.delete(pipe);
    if (this.#running.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #report({ stream, peer, since }: StreamFacts, { cause, left }: PipeEnd, pipe?: Pipe): void {
    const result = cause === undefined ? "completed" : cause instanceof StreamError ? cause.result : "reset";
    this.#metrics.streams.inc({ result });
    const from = left ? "consumer" : "backend side";
    const reason =
      cause === undefined || cause instanceof StreamError ? cause?.message : `${from}: ${errorText(cause)}`;
    this.#lines.spend((suppressed) => {
      const fields = {
        stream,
        peer,
        result,
        reason,
        toBackend: pipe?.forth.bytes ?? 0,
        toConsumer: pipe?.back.bytes ?? 0,
        milliseconds: Math.round(performance.now() - since),
        suppressed,
      };
      if (result === "completed" || result === "reset") this.#log.info("stream ended", fields);
      else this.#log.warn("stream failed", fields);
    });
  }
}
