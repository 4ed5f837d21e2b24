import { errorText } from "../errors.ts";
import type { Log } from "../log.ts";
import type { AgentMetrics } from "../metrics.ts";
import { Quota } from "./quota.ts";
import { type Stream, type StreamEnd, StreamError } from "./stream.ts";

/** All streams of a role: their end in log and metrics, and the wait for the last one. */
export class Streams {
  /** Bytes from left to right and back, of all streams. */
  readonly totals: { forth: AgentMetrics["toBackend"]; back: AgentMetrics["toConsumer"] };
  #streams = new Set<Stream>();
  #waiting: (() => void)[] = [];
  #lines = new Quota(20, 5);
  #log: Log;
  #metrics: AgentMetrics;

  constructor(log: Log, metrics: AgentMetrics) {
    this.#log = log;
    this.#metrics = metrics;
    this.totals = { forth: metrics.toBackend, back: metrics.toConsumer };
    metrics.gauge("streams_open", "Streams that are running now.", () => this.running);
  }

  /** Those that have both ends. */
  get running(): number {
    let count = 0;
    for (const stream of this.#streams) if (stream.back !== undefined) count += 1;
    return count;
  }

  /** From now on a drain waits for it. */
  add(stream: Stream): void {
    this.#streams.add(stream);
  }

  ended(stream: Stream, end: StreamEnd): void {
    this.#streams.delete(stream);
    this.#report(stream, end);
    if (this.#streams.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Waits until there is no stream, `timeout` milliseconds at most, then resets the rest. */
  async drain(timeout: number): Promise<void> {
    if (this.#streams.size > 0) {
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
    for (const stream of [...this.#streams]) stream.fail(cause);
  }

  #report({ id, from, since, forth, back }: Stream, { cause, side }: StreamEnd): void {
    const result = cause === undefined ? "completed" : cause instanceof StreamError ? cause.result : "reset";
    this.#metrics.streams.inc({ result });
    this.#lines.spend((suppressed) => {
      const end = side === "left" ? "consumer" : "backend side";
      const reason =
        cause === undefined || cause instanceof StreamError ? cause?.message : `${end}: ${errorText(cause)}`;
      const fields = {
        stream: id,
        peer: from,
        result,
        reason,
        toBackend: forth.bytes,
        toConsumer: back?.bytes ?? 0,
        milliseconds: Math.round(performance.now() - since),
        suppressed,
      };
      if (result === "completed" || result === "reset") this.#log.info("stream ended", fields);
      else this.#log.warn("stream failed", fields);
    });
  }
}
