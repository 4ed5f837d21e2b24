import { errorText } from "../errors.ts";
import type { Log } from "../log.ts";
import type { AgentMetrics, StreamResult } from "../metrics.ts";
import type { Wire } from "./net/wire.ts";
import { Pipe, type PipeEnd } from "./pipe.ts";
import { Quota } from "./quota.ts";

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
  /** Numbers of streams that are being started. */
  #expected = new Set<number>();
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

  /** A stream is being started: a drain waits for it as for a running one, until it is opened or has failed. */
  expect(stream: number): void {
    this.#expected.add(stream);
  }

  /** Joins the consumer's side (left) and the backend's side (right). Neither direction runs before the caller attaches it. */
  open(left: Wire, right: Wire, facts: StreamFacts, over: () => void): Pipe {
    const totals = { forth: this.#metrics.toBackend, back: this.#metrics.toConsumer };
    const pipe = new Pipe(left, right, totals, (end) => {
      this.#remove(pipe);
      this.#report(facts, end, pipe);
      over();
    });
    this.#expected.delete(facts.stream);
    this.#running.add(pipe);
    return pipe;
  }

  /** Forgets the start of `stream`, which is going to be tried again with other wires. */
  abandon(pipe: Pipe, stream: number): void {
    pipe.abandon();
    this.#expected.add(stream);
    this.#remove(pipe);
  }

  /** A consumer that never became a stream. */
  failed(facts: StreamFacts, cause: StreamError): void {
    this.#expected.delete(facts.stream);
    this.#report(facts, { cause, side: "right" });
    this.#settle();
  }

  /** Waits until no stream runs or is being started, `timeout` milliseconds at most, then resets the rest. */
  async drain(timeout: number): Promise<void> {
    if (!this.#isIdle) {
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
    this.#settle();
  }

  get #isIdle(): boolean {
    return this.#running.size === 0 && this.#expected.size === 0;
  }

  #settle(): void {
    if (this.#isIdle) for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #report({ stream, peer, since }: StreamFacts, { cause, side }: PipeEnd, pipe?: Pipe): void {
    const result = cause === undefined ? "completed" : cause instanceof StreamError ? cause.result : "reset";
    this.#metrics.streams.inc({ result });
    this.#lines.spend((suppressed) => {
      const from = side === "left" ? "consumer" : "backend side";
      const reason =
        cause === undefined || cause instanceof StreamError ? cause?.message : `${from}: ${errorText(cause)}`;
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
