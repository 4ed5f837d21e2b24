import type { Better } from "./statistics.ts";

/** One number that a row yields for each product, and how it is shown. */
export interface Metric {
  key: string;
  section: string;
  label: string;
  better: Better;
  digits: number;
  goal?: Goal;
}

/** `ratio`: against the best peer; `limit`: an upper bound in the metric's own unit; `trips`: in round trips of the link. */
export type Goal = { ratio: number } | { limit: number } | { trips: number };

export type Row =
  | { kind: "throughput"; name: string; streams: number; direction: "up" | "down" | "both" }
  | { kind: "rate"; name: string; workers: number }
  | { kind: "memory"; name: string }
  | { kind: "link"; name: string; milliseconds: number };

export const sides = ["server", "client"] as const;
export type Side = (typeof sides)[number];

/** What the two sides are called in the report: `server` is where consumers connect, `client` is next to the backend. */
const sideTitles: Record<Side, string> = { server: "proxy", client: "target" };

/** Bound of `RssAnon` per side, in MiB. */
const memoryLimit = 64;

/** Streams of the memory row. */
export const manyStreams = 1000;

/** Consumers that arrive at the same moment in a link row. */
export const burstSize = 32;

const directions = ["up", "down", "both"] as const;

export const rows: readonly Row[] = [
  ...[1, 8, 64].flatMap((streams) =>
    directions.map((direction) => ({
      kind: "throughput" as const,
      name: `throughput-${streams}-${direction}`,
      streams,
      direction,
    })),
  ),
  { kind: "rate", name: "rate-1", workers: 1 },
  { kind: "rate", name: "rate-64", workers: 64 },
  { kind: "memory", name: "memory" },
  { kind: "link", name: "link-20", milliseconds: 20 },
  { kind: "link", name: "link-50", milliseconds: 50 },
  { kind: "link", name: "link-150", milliseconds: 150 },
];

export function rowNames(): string[] {
  return rows.map((row) => row.name);
}

/** All numbers that a row yields. */
export function metricsOf(row: Row): Metric[] {
  switch (row.kind) {
    case "throughput":
      return [
        throughputMetric(
          "throughput",
          `${row.streams} ${row.streams === 1 ? "stream" : "streams"} ${row.direction}`,
          row.streams === 1 ? 1.3 : 1,
        ),
        ...costMetrics("cpu", "CPU seconds per GB (less is better)", row.name),
        ...memoryMetrics("peak", "Largest RssAnon while measuring, MiB (less is better)", row.name),
      ];
    case "rate":
      return [
        {
          key: "rate",
          section: "Connect, 1 byte, reply, close: per second (more is better)",
          label: `${row.workers} at once`,
          better: "higher",
          digits: 0,
          goal: { ratio: 1 },
        },
        latencyMetric("p50", `${row.workers} at once, p50`),
        latencyMetric("p99", `${row.workers} at once, p99`),
        ...costMetrics("cpu", "CPU milliseconds per connection (less is better)", row.name),
        ...memoryMetrics("peak", "Largest RssAnon while measuring, MiB (less is better)", row.name),
      ];
    case "memory":
      return [
        ...memoryMetrics("idle", "RssAnon, MiB (less is better)", "idle"),
        ...memoryMetrics("idle-streams", "RssAnon, MiB (less is better)", `${manyStreams} idle streams`),
        ...memoryMetrics("busy-streams", "RssAnon, MiB (less is better)", `${manyStreams} busy streams`),
        throughputMetric("throughput", `${manyStreams} streams both`, 1),
      ];
    case "link":
      return [
        linkMetric("alone", `${row.milliseconds} ms, alone`, { trips: 1.1 }),
        linkMetric("together", `${row.milliseconds} ms, ${burstSize} at once`, { trips: 1.1 }),
        linkMetric("cold", `${row.milliseconds} ms, the first ${burstSize} at once`),
      ];
  }
}

function throughputMetric(key: string, label: string, ratio: number): Metric {
  return { key, section: "Throughput, Gbit/s (more is better)", label, better: "higher", digits: 2, goal: { ratio } };
}

function latencyMetric(key: string, label: string): Metric {
  return { key, section: "Connect to first reply, ms (less is better)", label, better: "lower", digits: 2 };
}

function linkMetric(key: string, label: string, goal?: Goal): Metric {
  const metric: Metric = {
    key,
    section: "First reply over a slow link, ms (less is better)",
    label,
    better: "lower",
    digits: 1,
  };
  return goal === undefined ? metric : { ...metric, goal };
}

function costMetrics(key: string, section: string, label: string): Metric[] {
  return sides.map((side) => ({
    key: `${key}-${side}`,
    section,
    label: `${label}, ${sideTitles[side]} side`,
    better: "lower",
    digits: 2,
  }));
}

function memoryMetrics(key: string, section: string, label: string): Metric[] {
  return sides.map((side) => ({
    key: `${key}-${side}`,
    section,
    label: `${label}, ${sideTitles[side]} side`,
    better: "lower",
    digits: 1,
    goal: { limit: memoryLimit },
  }));
}
