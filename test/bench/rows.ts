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

/** `ratio`: against the best peer, at least or (where less is better) at most; `limit`: an upper bound in the metric's own unit; `trips`: in round trips of the link. */
export type Goal = { ratio: number } | { limit: number } | { trips: number };

export type Row =
  | { kind: "throughput"; name: string; streams: number; direction: "up" | "down" | "both" }
  | { kind: "rate"; name: string; workers: number }
  | { kind: "memory"; name: string; streams: number }
  | { kind: "link"; name: string; link: LinkShape }
  | {
      kind: "bulk";
      name: string;
      link: LinkShape;
      streams: number;
      direction: "up" | "down";
      idle: number;
      replies: number;
    };

/** A link between two network namespaces, the same in both directions (test/bench/delay). */
export interface LinkShape {
  /** Milliseconds. */
  roundTrip: number;
  /** Mbit/s; absent: as fast as the machine goes. */
  rate?: number;
  /** Bytes that wait for the rate before packets are dropped. */
  queue?: number;
  /** Probability that a packet is lost. */
  loss?: number;
}

export const sides = ["server", "client"] as const;
export type Side = (typeof sides)[number];

/** What the two sides are called in the report: `server` is where consumers connect, `client` is next to the backend. */
const sideTitles: Record<Side, string> = { server: "proxy", client: "target" };

/** Bound of `RssAnon` per side in MiB, with that many streams in all. */
const memoryLimit = (streams: number) => (streams <= 256 ? 64 : 128);

/** Consumers that arrive at the same moment in a link row. */
export const burstSize = 32;

const directions = ["up", "down", "both"] as const;

/** Links as fast as the machine goes, by name of their bulk rows. */
const longLinks = {
  "long-20": { roundTrip: 20 },
  "long-50": { roundTrip: 50 },
  "long-150": { roundTrip: 150 },
} as const satisfies Record<string, LinkShape>;

/** Links that drop packets: a line whose queue is 20 ms long, and one with losses that have nothing to do with load. */
const harshLinks = {
  narrow: { roundTrip: 50, rate: 100, queue: 256 * 1024 },
  lossy: { roundTrip: 50, loss: 0.005 },
} as const satisfies Record<string, LinkShape>;

/** Streams, direction, and idle streams beside them. */
type BulkLoad = readonly [streams: number, direction: "up" | "down", idle: number];

const bulkLoads: readonly BulkLoad[] = [
  [1, "up", 0],
  [1, "down", 0],
  [6, "up", 0],
  [6, "down", 0],
  [6, "up", 250],
  [6, "down", 250],
  [64, "down", 1000],
];

/** Where memory has its bounds; once, because it does not depend on the link's length. */
const fullLoads: readonly BulkLoad[] = [
  [250, "down", 0],
  [1000, "down", 0],
];

/** New connections whose first reply is timed beside six streams. */
const repliesBeside = 5;

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
  { kind: "memory", name: "memory", streams: 1000 },
  { kind: "memory", name: "memory-250", streams: 250 },
  { kind: "link", name: "link-20", link: longLinks["long-20"] },
  { kind: "link", name: "link-50", link: longLinks["long-50"] },
  { kind: "link", name: "link-150", link: longLinks["long-150"] },
  ...Object.entries(longLinks).flatMap(([name, link]) => bulkRows(name, link, bulkLoads, 0)),
  ...bulkRows("long-50", longLinks["long-50"], fullLoads, 0),
  ...Object.entries(harshLinks).flatMap(([name, link]) => bulkRows(name, link, bulkLoads, repliesBeside)),
];

function bulkRows(link: string, shape: LinkShape, loads: readonly BulkLoad[], replies: number): Row[] {
  return loads.map(([streams, direction, idle]) => ({
    kind: "bulk",
    name: `${link}-${streams}-${direction}${idle === 0 ? "" : `-${idle}`}`,
    link: shape,
    streams,
    direction,
    idle,
    replies: streams === 6 && idle === 0 ? replies : 0,
  }));
}

/**
 * Whether a product is measured in that round, 0 the first. The bulk rows are many and their goals name rathole alone:
 * other peers do not run there, and the direct connection once, to show what the link carries.
 */
export function measures(row: Row, product: string, round: number): boolean {
  if (row.kind !== "bulk") return true;
  return product === "direct" ? round === 0 : !["bore", "haproxy"].includes(product);
}

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
        ...memoryMetrics("peak", "Largest RssAnon while measuring, MiB (less is better)", row.name, row.streams),
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
        ...memoryMetrics("peak", "Largest RssAnon while measuring, MiB (less is better)", row.name, row.workers),
      ];
    case "memory":
      return [
        ...memoryMetrics("idle", "RssAnon, MiB (less is better)", `${row.name}, idle`, 0),
        ...memoryMetrics("idle-streams", "RssAnon, MiB (less is better)", `${row.streams} idle streams`, row.streams),
        ...memoryMetrics("busy-streams", "RssAnon, MiB (less is better)", `${row.streams} busy streams`, row.streams),
        throughputMetric("throughput", `${row.streams} streams both`, 1),
      ];
    case "link":
      return [
        linkMetric("alone", `${row.link.roundTrip} ms, alone`, { trips: 1.1 }),
        linkMetric("together", `${row.link.roundTrip} ms, ${burstSize} at once`, { trips: 1.1 }),
        linkMetric("cold", `${row.link.roundTrip} ms, the first ${burstSize} at once`),
      ];
    case "bulk":
      return [
        {
          key: "speed",
          section: "Throughput over a link, MB/s (more is better)",
          label: row.name,
          better: "higher",
          digits: 1,
          goal: { ratio: 1 },
        },
        {
          key: "reply",
          section: "First reply of a new connection beside the streams, ms (less is better)",
          label: row.name,
          better: "lower",
          digits: 0,
          goal: { ratio: 1 },
        },
        ...costMetrics("cpu", "CPU seconds per GB over a link (less is better)", row.name),
        ...memoryMetrics("peak", "Largest RssAnon over a link, MiB (less is better)", row.name, row.streams + row.idle),
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

function memoryMetrics(key: string, section: string, label: string, streams: number): Metric[] {
  return sides.map((side) => ({
    key: `${key}-${side}`,
    section,
    label: `${label}, ${sideTitles[side]} side`,
    better: "lower",
    digits: 1,
    goal: { limit: memoryLimit(streams) },
  }));
}
