import { describe, expect, test } from "bun:test";
import { metricsOf } from "../bench/metrics.ts";
import { type Described, measures, processesOf, type Row, rowNames, rows } from "../bench/rows.ts";

const plain = ["direct", "bore", "rathole", "haproxy", "netaminity"];
const encrypted = ["rathole-tls", "rathole-noise", "haproxy-tls", "netaminity-tls"];
const products: Described[] = [...plain, ...encrypted].map((name) => ({
  name,
  encrypted: encrypted.includes(name),
  ours: name.startsWith("netaminity"),
}));

function row(name: string): Row {
  const found = rows.find((row) => row.name === name);
  if (found === undefined) throw new Error(`no row ${name}`);
  return found;
}

function measured(name: string, round: number): string {
  return products
    .filter((product) => measures(row(name), product, round))
    .map((product) => product.name)
    .join(" ");
}

describe("rows of the benchmark", () => {
  test("each has a name of its own", () => {
    expect(new Set(rowNames()).size).toBe(rows.length);
  });

  test.each([
    ["throughput-8-both", plain.join(" "), plain.join(" ")],
    ["throughput-1000-up", "bore rathole haproxy netaminity", "bore rathole haproxy netaminity"],
    ["rate-64", plain.join(" "), plain.join(" ")],
    ["tls-throughput-8-both", encrypted.join(" "), encrypted.join(" ")],
    ["tls-rate-64", `rathole ${encrypted.join(" ")}`, `rathole ${encrypted.join(" ")}`],
    ["memory", "bore rathole haproxy netaminity", "bore rathole haproxy netaminity"],
    ["tls-memory", "netaminity-tls", "netaminity-tls"],
    ["wakeups", "rathole netaminity netaminity-tls", "rathole netaminity netaminity-tls"],
    ["new-streams", "rathole netaminity netaminity-tls", ""],
    ["link-50", `${plain.join(" ")} netaminity-tls`, `${plain.join(" ")} netaminity-tls`],
    ["long-50-1-up", "direct rathole netaminity netaminity-tls", "rathole netaminity netaminity-tls"],
    ["long-50-6-down-250", "direct rathole netaminity", "rathole netaminity"],
  ])("%s is measured on those whom its goals name", (name, first, second) => {
    expect([measured(name, 0), measured(name, 1)]).toEqual([first, second]);
  });

  test("a thousand streams have processes of their own, as have plain and encrypted products", () => {
    const groups = Map.groupBy(rows, processesOf);
    const names = (key: string | undefined) => groups.get(key)?.map((row) => row.name);
    expect(names("throughput-1000-up")).toEqual(["throughput-1000-up"]);
    expect(names("lasting true")?.every((name) => name.startsWith("tls-"))).toBe(true);
    expect(names("lasting false")?.some((name) => name.startsWith("tls-"))).toBe(false);
    expect(names(undefined)).toEqual([
      ...["memory", "memory-250", "tls-memory", "tls-memory-500", "tls-memory-250"],
      ...["wakeups", "new-streams"],
    ]);
  });

  test("goals of throughput: 1.3 on one and eight streams, at least the peers' beyond, and 1.3 encrypted", () => {
    const goals = [
      "throughput-1-up",
      "throughput-8-up",
      "throughput-64-up",
      "throughput-1000-up",
      "tls-throughput-8-up",
    ]
      .map(row)
      .map((row) => metricsOf(row)[0]?.goal);
    expect(goals).toEqual([
      { ratio: 1.3, aboveRelay: true },
      { ratio: 1.3, aboveRelay: true },
      { ratio: 1, aboveRelay: true },
      { ratio: 1, aboveRelay: true },
      { ratio: 1.3 },
    ]);
  });
});
