import { type Metric, metricsOf } from "./metrics.ts";
import type { Described, Row } from "./rows.ts";
import { median, medianRatio, type Samples } from "./statistics.ts";

/** Everything that was measured: row, metric key, product, one value per round. */
export interface Results {
  add(row: string, product: string, round: number, values: Record<string, number>): void;
  fail(row: string, product: string, round: number, reason: string): void;
  samples(row: string, key: string, product: string): Samples;
  failures: { row: string; product: string; round: number; reason: string }[];
}

export function emptyResults(rounds: number): Results {
  const stored = new Map<string, (number | undefined)[]>();
  const failures: Results["failures"] = [];
  const name = (row: string, key: string, product: string) => JSON.stringify([row, key, product]);
  return {
    failures,
    add(row, product, round, values) {
      for (const [key, value] of Object.entries(values)) {
        const list = stored.get(name(row, key, product)) ?? Array.from({ length: rounds }, () => undefined);
        list[round] = value;
        stored.set(name(row, key, product), list);
      }
    },
    fail: (row, product, round, reason) => failures.push({ row, product, round, reason }),
    samples: (row, key, product) => stored.get(name(row, key, product)) ?? [],
  };
}

/** One line of the report. */
export interface Line {
  row: string;
  metric: Metric;
  /** Medians by product; a product that has no such number is absent. */
  medians: Record<string, number>;
  /** Of the best of the metric's peers; undefined when none of them was measured. */
  toPeers: number | undefined;
  toHaproxy: number | undefined;
  /** Of each variant to our own product of the same kind. */
  toNetaminity: Record<string, number>;
  verdict: "met" | "missed" | undefined;
}

/** Lines of the report, in the order of rows and metrics. `products` in the order of their columns. */
export function lines(results: Results, rows: readonly Row[], products: readonly Described[]): Line[] {
  return rows.flatMap((row) =>
    metricsOf(row).flatMap((metric): Line[] => {
      const { subject, peers, relay, encrypted, better } = metric;
      const alike = products.filter((product) => product.encrypted === encrypted);
      const shown = products.filter((product) => alike.includes(product) || peers.includes(product.name));
      const variants = alike.filter((product) => product.ours && product.name !== subject);
      const samples = (product: string) => results.samples(row.name, metric.key, product);
      const ratio = (of: string, to: readonly string[]) => medianRatio(samples(of), to.map(samples), better);
      const mediansOf = (some: readonly Described[]) =>
        definedEntries(some.map(({ name }) => [name, median(samples(name))]));
      // A row of plain products that ours was not beside encrypted says nothing about encryption.
      if (Object.keys(mediansOf(alike)).length === 0) return [];
      const medians = mediansOf(shown);
      const toPeers = ratio(subject, peers);
      const toHaproxy = ratio(subject, [relay]);
      const line = { row: row.name, metric, medians, toPeers, toHaproxy };
      return [
        {
          ...line,
          toNetaminity: definedEntries(variants.map(({ name }) => [name, ratio(name, [subject])])),
          verdict: verdict(line, tripOf(results, row)),
        },
      ];
    }),
  );
}

function verdict(
  { metric: { goal, better, subject }, medians, toPeers, toHaproxy }: Omit<Line, "toNetaminity" | "verdict">,
  trip: number | undefined,
): Line["verdict"] {
  const value = medians[subject];
  if (goal === undefined || value === undefined) return undefined;
  if ("limit" in goal) return value < goal.limit ? "met" : "missed";
  if ("ratio" in goal) {
    if (toPeers === undefined) return undefined;
    const reached = better === "higher" ? asShown(toPeers) >= goal.ratio : asShown(toPeers) <= goal.ratio;
    const above = goal.aboveRelay !== true || toHaproxy === undefined || asShown(toHaproxy) > 1;
    return reached && above ? "met" : "missed";
  }
  return trip === undefined ? undefined : value <= goal.trips * trip ? "met" : "missed";
}

/** Differences below a hundredth are noise, and on a line of a given rate nothing else is left. */
function asShown(ratio: number): number {
  return Math.round(ratio * 100) / 100;
}

/** The round trip of a link in ms, as the connects of the direct connection took it; other rows have none. */
export function tripOf(results: Results, row: Row): number | undefined {
  return row.kind === "link" ? median(results.samples(row.name, "connect", "direct")) : undefined;
}

function definedEntries(entries: readonly (readonly [string, number | undefined])[]): Record<string, number> {
  return Object.fromEntries(entries.filter((entry): entry is [string, number] => entry[1] !== undefined));
}
