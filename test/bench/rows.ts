/** What the report needs to know about a product. */
export interface Described {
  name: string;
  /** What it carries between its two sides is encrypted. */
  encrypted: boolean;
  /** A build of netaminity. */
  ours: boolean;
}

type Direction = "up" | "down";

export type Row =
  | { kind: "throughput"; name: string; streams: number; direction: Direction | "both"; encrypted: boolean }
  | { kind: "rate"; name: string; workers: number; encrypted: boolean }
  | { kind: "memory"; name: string; streams: number; encrypted: boolean }
  | { kind: "streams"; name: string; workers: number }
  | { kind: "wakeups"; name: string }
  | { kind: "link"; name: string; link: LinkShape }
  | {
      kind: "bulk";
      name: string;
      link: LinkShape;
      streams: number;
      direction: Direction;
      idle: number;
      replies: number;
      /** Our encrypted product runs beside the plain ones. */
      encryptedToo: boolean;
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

/** Consumers that arrive at the same moment in a link row. */
export const burstSize = 32;

const directions = ["up", "down", "both"] as const;

/** From so many streams on a row has processes of its own: what they took would show in the memory of the next row. */
const manyStreams = 1000;

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
type BulkLoad = readonly [streams: number, direction: Direction, idle: number];

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
  ...throughputRows("", [1, 8, 64], directions, false),
  // Both directions of a thousand are in the row `memory`.
  ...throughputRows("", [manyStreams], ["up", "down"], false),
  ...rateRows("", false),
  ...throughputRows("tls-", [1, 8], directions, true),
  ...rateRows("tls-", true),
  { kind: "memory", name: "memory", streams: 1000, encrypted: false },
  { kind: "memory", name: "memory-250", streams: 250, encrypted: false },
  { kind: "memory", name: "tls-memory", streams: 1000, encrypted: true },
  { kind: "memory", name: "tls-memory-500", streams: 500, encrypted: true },
  { kind: "memory", name: "tls-memory-250", streams: 250, encrypted: true },
  { kind: "wakeups", name: "wakeups" },
  { kind: "streams", name: "new-streams", workers: 64 },
  { kind: "link", name: "link-20", link: longLinks["long-20"] },
  { kind: "link", name: "link-50", link: longLinks["long-50"] },
  { kind: "link", name: "link-150", link: longLinks["long-150"] },
  ...Object.entries(longLinks).flatMap(([name, link]) => bulkRows(name, link, bulkLoads, 0)),
  ...bulkRows("long-50", longLinks["long-50"], fullLoads, 0),
  ...Object.entries(harshLinks).flatMap(([name, link]) => bulkRows(name, link, bulkLoads, repliesBeside)),
];

function throughputRows(
  prefix: string,
  counts: readonly number[],
  ways: readonly (Direction | "both")[],
  encrypted: boolean,
): Row[] {
  return counts.flatMap((streams) =>
    ways.map((direction) => ({
      kind: "throughput" as const,
      name: `${prefix}throughput-${streams}-${direction}`,
      streams,
      direction,
      encrypted,
    })),
  );
}

function rateRows(prefix: string, encrypted: boolean): Row[] {
  return [1, 64].map((workers) => ({ kind: "rate" as const, name: `${prefix}rate-${workers}`, workers, encrypted }));
}

function bulkRows(link: string, shape: LinkShape, loads: readonly BulkLoad[], replies: number): Row[] {
  return loads.map(([streams, direction, idle]) => ({
    kind: "bulk",
    name: `${link}-${streams}-${direction}${idle === 0 ? "" : `-${idle}`}`,
    link: shape,
    streams,
    direction,
    idle,
    replies: streams === 6 && idle === 0 ? replies : 0,
    encryptedToo: idle === 0,
  }));
}

/**
 * Whether a product is measured in that round, 0 the first. Where rows are many or long, only those run whom the goals name: over a
 * link rathole, and the direct connection once, to show what the link carries; new streams for a minute are one round.
 */
export function measures(row: Row, { name, encrypted, ours }: Described, round: number): boolean {
  switch (row.kind) {
    case "throughput":
      // Both ends of a thousand streams in one program leave no memory for sockets to anybody, and no time.
      return encrypted === row.encrypted && !(name === "direct" && row.streams >= manyStreams);
    case "rate":
      return encrypted === row.encrypted || name === "rathole";
    case "memory":
      return encrypted === row.encrypted && name !== "direct" && (ours || !row.encrypted);
    case "streams":
      return round === 0 && (ours || name === "rathole");
    case "wakeups":
      return ours || name === "rathole";
    case "link":
      return ours || !encrypted;
    case "bulk":
      if (name === "direct") return round === 0;
      return name === "rathole" || (ours && (row.encryptedToo || !encrypted));
  }
}

/** Rows with the same answer share their processes; undefined: each measurement has new ones. */
export function processesOf(row: Row): string | undefined {
  switch (row.kind) {
    case "throughput":
      return row.streams < manyStreams ? `lasting ${row.encrypted}` : row.name;
    case "rate":
      return `lasting ${row.encrypted}`;
    case "link":
    case "bulk":
      return row.name;
    default:
      return undefined;
  }
}

export function rowNames(): string[] {
  return rows.map((row) => row.name);
}
