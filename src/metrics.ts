import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { linesDropped } from "./log.ts";

/** Plain numbers, because they change with every read of a socket. */
export interface ByteCount {
  bytes: number;
}

/** In the agents and in the operator. */
export function countDroppedLines(registers: Registry[]): Counter {
  return new Counter({
    name: "netaminity_log_lines_dropped_total",
    help: "Log lines that nobody took: standard error was full, closed or stood still.",
    registers,
    collect() {
      this.reset();
      this.inc(linesDropped());
    },
  });
}

/** How a stream ended, the label `result` of `netaminity_streams_total`; docs/reference/metrics.md explains each. */
export type StreamResult =
  | "completed"
  | "reset"
  | "lost"
  | "drained"
  | "refused"
  | "unreachable"
  | "unresolved"
  | "timeout"
  | "no_session"
  | "overload"
  | "bad_header";

/**
 * Milliseconds between two looks at how late the event loop's timers are. Each look wakes the process, and prom-client's default of 10 made an
 * idle one wake a hundred times a second; a stall as long as this is never missed. Bun counts only what is beyond the interval, so the
 * values mean the same whatever it is.
 */
const eventLoopMonitoringPrecision = 500;

class CountedRows<Label extends string> extends Gauge<Label> {
  read: () => Promise<readonly Record<Label, string>[]> = async () => [];

  constructor(name: string, help: string, labelNames: readonly Label[], registers: Registry[]) {
    const collect = async () => {
      const rows = await this.read();
      this.reset();
      for (const row of rows) this.inc(row);
    };
    super({ name: `netaminity_${name}`, help, labelNames, registers, collect });
  }
}

export type AgentMetrics = ReturnType<typeof createMetrics>;

/** The metrics of one proxy or target; names follow the Prometheus conventions. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
  countDroppedLines(registers);
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name: `netaminity_${name}`, help, labelNames, registers });
  const toBackend: ByteCount = { bytes: 0 };
  const toConsumer: ByteCount = { bytes: 0 };
  const bytes = new Counter({
    name: "netaminity_stream_bytes_total",
    help: "Bytes carried inside streams.",
    labelNames: ["direction"],
    registers,
    collect() {
      this.reset();
      this.inc({ direction: "to_backend" }, toBackend.bytes);
      this.inc({ direction: "to_consumer" }, toConsumer.bytes);
    },
  });
  /** How many rows with the same labels are read when metrics are asked for. */
  const counted = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new CountedRows(name, help, labelNames, registers);
  return {
    bytes,
    /** Bytes from consumers towards the backend. */
    toBackend,
    /** Bytes from the backend towards consumers. */
    toConsumer,
    streams: counter("streams_total", "Streams that have ended, by result.", ["result"]),
    startSeconds: new Histogram({
      name: "netaminity_stream_start_seconds",
      help: "Proxy: from the consumer's arrival to the target's word that the backend is connected. Target: time to connect to the backend.",
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    }),
    sessionsOpened: counter("sessions_opened_total", "Sessions that came up, by protocol.", ["protocol"]),
    sessionsLost: counter("sessions_lost_total", "Sessions that ended without having been drained, by reason.", [
      "reason",
    ]),
    reconnects: counter("reconnects_total", "Target: attempts to open a session that failed, by reason.", ["reason"]),
    poolHits: counter("pool_hits_total", "Proxy: consumers that got an idle data connection at once."),
    poolMisses: counter("pool_misses_total", "Proxy: consumers that had to wait for a data connection."),
    moved: counter("streams_moved_total", "Proxy: starts without an answer that were tried again elsewhere."),
    backendDials: counter("backend_dials_total", "Target: connections to the backend, by result.", ["result"]),
    authFailures: counter("auth_failures_total", "Handshakes with a wrong or missing secret."),
    handshakesDropped: counter("handshakes_dropped_total", "Proxy: handshakes that were given up, by reason.", [
      "reason",
    ]),
    secrets: counted("secret_info", "Secrets that this process has, by fingerprint; 1 for each.", [
      "use",
      "fingerprint",
    ]),
    sessionSecrets: counted(
      "secret_sessions",
      "Sessions that take new streams, by the fingerprint of the secret that opened them.",
      ["fingerprint"],
    ),
    acceptsRefused: counter("accepts_refused_total", "Connections reset because the process ran out of descriptors."),
    /** Adds a value that is read when metrics are asked for. */
    gauge(name: string, help: string, read: () => number): void {
      const gauge: Gauge = new Gauge({ name: `netaminity_${name}`, help, registers, collect: () => gauge.set(read()) });
    },
    async expose(): Promise<{ contentType: string; body: string }> {
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}
