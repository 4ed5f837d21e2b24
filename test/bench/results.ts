import { type Metric, metricsOf, type Row } from "./rows.ts";
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
  /** Of the best of bore and rathole; undefined when none of them was measured. */
  toPeers: number | undefined;
  toHaproxy: number | undefined;
  /** Of each variant to netaminity. */
  toNetaminity: Record<string, number>;
  verdict: "met" | "missed" | undefined;
}

/** The products whose better one sets the goals. */
const peers = ["bore", "rathole"];
export const subject = "netaminity";

/** Lines of the report, in the order of rows and metrics. `products` in the order of their columns. */
export function lines(results: Results, rows: readonly Row[], products: readonly string[]): Line[] {
  const variants = products.filter((product) => !["direct", "haproxy", subject, ...peers].includes(product));
  return rows.flatMap((row) =>
    metricsOf(row)
      .map((metric): Line => {
        const samples = (product: string) => results.samples(row.name, metric.key, product);
        const ratio = (of: string, to: readonly string[]) => medianRatio(samples(of), to.map(samples), metric.better);
        const medians = definedEntries(products.map((product) => [product, median(samples(product))]));
        const toPeers = ratio(subject, peers);
        return {
          row: row.name,
          metric,
          medians,
          toPeers,
          toHaproxy: ratio(subject, ["haproxy"]),
          toNetaminity: definedEntries(variants.map((variant) => [variant, ratio(variant, [subject])])),
          verdict: verdict(metric, medians[subject], toPeers, tripOf(results, row)),
        };
      })
      .filter((line) => Object.keys(line.medians).length > 0),
  );
}

function verdict(
  { goal, better }: Metric,
  value: number | undefined,
  toPeers: number | undefined,
  trip: number | undefined,
): Line["verdict"] {
  if (goal === undefined || value === undefined) return undefined;
  if ("limit" in goal) return value < goal.limit ? "met" : "missed";
  if ("ratio" in goal) {
    if (toPeers === undefined) return undefined;
    // As it is shown: differences below a hundredth are noise, and on a line of a given rate nothing else is left.
    const shown = Math.round(toPeers * 100) / 100;
    return (better === "higher" ? shown >= goal.ratio : shown <= goal.ratio) ? "met" : "missed";
  }
  return trip === undefined ? undefined : value <= goal.trips * trip ? "met" : "missed";
}

/** The round trip of a link in ms, as the connects of the direct connection took it; other rows have none. */
export function tripOf(results: Results, row: Row): number | undefined {
  return row.kind === "link" ? median(results.samples(row.name, "connect", "direct")) : undefined;
}

function definedEntries(entries: readonly (readonly [string, number | undefined])[]): Record<string, number> {
  return Object.fromEntries(entries.filter((entry): entry is [string, number] => entry[1] !== undefined));
}
