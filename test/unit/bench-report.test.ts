import { describe, expect, test } from "bun:test";
import { report, table } from "../bench/report.ts";
import { emptyResults, lines } from "../bench/results.ts";
import { measures, rows } from "../bench/rows.ts";

const products = ["direct", "bore", "rathole", "haproxy", "netaminity", "other"];

function rowsNamed(...names: string[]) {
  return rows.filter((row) => names.includes(row.name));
}

describe("report of the benchmark", () => {
  test("a table puts its first column to the left and numbers to the right", () => {
    expect(table(["", "bore", "x"], [["one", "1.00", "12345"]])).toBe(
      ["     bore      x", "---  ----  -----", "one  1.00  12345"].join("\n"),
    );
  });

  test("a row becomes one line per section, with medians, ratios and whether the goal was met", () => {
    const results = emptyResults(2);
    for (const [product, first, second] of [
      ["direct", 20, 22],
      ["bore", 5, 6],
      ["rathole", 4, 8],
      ["haproxy", 7, 9],
      ["netaminity", 7, 11],
      ["other", 14, 11],
    ] as const) {
      results.add("throughput-1-up", product, 0, { throughput: first });
      results.add("throughput-1-up", product, 1, { throughput: second });
    }
    expect(report(lines(results, rowsNamed("throughput-1-up"), products), products)).toBe(
      [
        "Throughput, Gbit/s (more is better)",
        "             direct  bore  rathole  haproxy  netaminity  other  to best peer  to haproxy  other to netaminity        goal",
        "-----------  ------  ----  -------  -------  ----------  -----  ------------  ----------  -------------------  ----------",
        "1 stream up   21.00  5.50     6.00     8.00        9.00  12.50          1.39        1.11                 1.50  >= 1.3 met",
      ].join("\n"),
    );
  });

  test("a goal in round trips is judged against the connects of the direct connection", () => {
    const results = emptyResults(1);
    results.add("link-50", "direct", 0, { connect: 50, alone: 100 });
    results.add("link-50", "netaminity", 0, { connect: 0.1, alone: 54, together: 56, cold: 200 });
    const verdicts = lines(results, rowsNamed("link-50"), products).map((line) => [line.metric.key, line.verdict]);
    expect(verdicts).toEqual([
      ["alone", "met"],
      ["together", "missed"],
      ["cold", undefined],
    ]);
  });

  test("over a link throughput may not be below the peer's, and a first reply not later, in hundredths", () => {
    const results = emptyResults(1);
    results.add("narrow-6-down", "rathole", 0, { speed: 12, reply: 70 });
    results.add("narrow-6-down", "netaminity", 0, { speed: 11.95, reply: 70.3 });
    results.add("lossy-6-down", "rathole", 0, { speed: 12, reply: 70 });
    results.add("lossy-6-down", "netaminity", 0, { speed: 11.9, reply: 71 });
    const all = lines(results, rowsNamed("narrow-6-down", "lossy-6-down"), products);
    expect(all.map((line) => [line.row, line.metric.key, line.verdict])).toEqual([
      ["narrow-6-down", "speed", "met"],
      ["narrow-6-down", "reply", "met"],
      ["lossy-6-down", "speed", "missed"],
      ["lossy-6-down", "reply", "missed"],
    ]);
    expect(report(all, products)).toContain("<= 1 MISSED");
  });

  test("memory is judged against its bound, without any peer, and what was not measured has no line", () => {
    const results = emptyResults(1);
    results.add("memory", "netaminity", 0, { "idle-server": 63.9, "idle-client": 64 });
    const verdicts = lines(results, rowsNamed("memory"), products).map((line) => [line.metric.key, line.verdict]);
    expect(verdicts).toEqual([
      ["idle-server", "met"],
      ["idle-client", "missed"],
    ]);
  });

  test("the bound of memory follows the number of streams", () => {
    const results = emptyResults(1);
    for (const row of ["memory", "memory-250"]) results.add(row, "netaminity", 0, { "busy-streams-server": 100 });
    for (const row of ["long-50-6-down-250", "long-50-64-down-1000"])
      results.add(row, "netaminity", 0, { "peak-client": 100 });
    const all = lines(results, rows, products);
    expect(all.map((line) => [line.row, line.verdict])).toEqual([
      ["memory", "met"],
      ["memory-250", "missed"],
      ["long-50-6-down-250", "missed"],
      ["long-50-64-down-1000", "met"],
    ]);
  });

  test("bulk rows run the direct connection once and rathole always, and leave other peers out", () => {
    const [row] = rowsNamed("long-50-1-up");
    if (row === undefined) throw new Error("no such row");
    const measured = (round: number) => products.filter((product) => measures(row, product, round));
    expect([measured(0), measured(1)]).toEqual([
      ["direct", "rathole", "netaminity", "other"],
      ["rathole", "netaminity", "other"],
    ]);
  });
});
