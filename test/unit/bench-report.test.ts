import { describe, expect, test } from "bun:test";
import { report, table } from "../bench/report.ts";
import { emptyResults, lines } from "../bench/results.ts";
import { type Described, rows } from "../bench/rows.ts";

const plain = ["direct", "bore", "rathole", "haproxy", "netaminity", "other"];
const encrypted = ["rathole-tls", "rathole-noise", "haproxy-tls", "netaminity-tls", "other-tls"];
const products: Described[] = [...plain, ...encrypted].map((name) => ({
  name,
  encrypted: encrypted.includes(name),
  ours: /netaminity|other/.test(name),
}));
const names = products.map((product) => product.name);

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
    expect(report(lines(results, rowsNamed("throughput-1-up"), products), names)).toBe(
      [
        "Throughput, Gbit/s (more is better)",
        "             direct  bore  rathole  haproxy  netaminity  other  to best peer  to haproxy  other to netaminity                       goal",
        "-----------  ------  ----  -------  -------  ----------  -----  ------------  ----------  -------------------  -------------------------",
        "1 stream up   21.00  5.50     6.00     8.00        9.00  12.50          1.39        1.11                 1.50  >= 1.3, above haproxy met",
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
    expect(report(all, names)).toContain("<= 1 MISSED");
  });

  test("memory is judged against its bound, without any peer, and what was not measured has no line", () => {
    const results = emptyResults(1);
    results.add("memory", "netaminity", 0, { "idle-server": 15.9, "idle-client": 16 });
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

  test("throughput also has to be above two HAProxy in a row, where these were measured", () => {
    const results = emptyResults(1);
    for (const row of ["throughput-64-up", "throughput-64-down"]) results.add(row, "rathole", 0, { throughput: 5 });
    results.add("throughput-64-up", "haproxy", 0, { throughput: 8 });
    for (const row of ["throughput-64-up", "throughput-64-down"]) results.add(row, "netaminity", 0, { throughput: 8 });
    const all = lines(results, rowsNamed("throughput-64-up", "throughput-64-down"), products);
    expect(all.map((line) => [line.row, line.toPeers, line.toHaproxy, line.verdict])).toEqual([
      ["throughput-64-up", 1.6, 1, "missed"],
      ["throughput-64-down", 1.6, undefined, "met"],
    ]);
  });

  test("an encrypted connection is judged against the better encrypted peer and against rathole as it is", () => {
    const results = emptyResults(1);
    for (const [product, rate] of [
      ["rathole", 100],
      ["rathole-tls", 40],
      ["rathole-noise", 60],
      ["haproxy-tls", 200],
      ["netaminity-tls", 90],
      ["other-tls", 180],
    ] as const)
      results.add("tls-rate-64", product, 0, { rate });
    expect(report(lines(results, rowsNamed("tls-rate-64"), products), names)).toBe(
      [
        "Encrypted: Connect, 1 byte, reply, close: per second (more is better)",
        "                                           rathole  rathole-tls  rathole-noise  haproxy-tls  netaminity-tls  other-tls  to best peer  to haproxy  other-tls to netaminity         goal",
        "-----------------------------------------  -------  -----------  -------------  -----------  --------------  ---------  ------------  ----------  -----------------------  -----------",
        "64 at once                                       -           40             60          200              90        180          1.50        0.45                     2.00   >= 1.3 met",
        "64 at once, to rathole without encryption      100           40             60          200              90        180          0.90        0.45                     2.00  >= 1 MISSED",
      ].join("\n"),
    );
  });

  test("over a link each of our products has lines of its own, and none says anything that was not measured", () => {
    const results = emptyResults(1);
    results.add("long-50-1-down", "rathole", 0, { speed: 60 });
    results.add("long-50-1-down", "netaminity", 0, { speed: 66 });
    const of = (row: string) =>
      lines(results, rowsNamed(row), products).map((line) => [line.metric.section, line.medians, line.verdict]);
    const section = "Throughput over a link, MB/s (more is better)";
    const without = [section, { rathole: 60, netaminity: 66 }, "met"];
    expect(of("long-50-1-down")).toEqual([without]);
    results.add("long-50-1-down", "netaminity-tls", 0, { speed: 54 });
    expect(of("long-50-1-down")).toEqual([
      without,
      [`Encrypted: ${section}`, { rathole: 60, "netaminity-tls": 54 }, "missed"],
    ]);
  });

  test("processor time per connection is that of both sides, compared with rathole's alone", () => {
    const results = emptyResults(1);
    results.add("rate-1", "bore", 0, { cpu: 100 });
    results.add("rate-1", "rathole", 0, { cpu: 200 });
    results.add("rate-1", "netaminity", 0, { cpu: 150, "cpu-server": 60 });
    const all = lines(results, rowsNamed("rate-1"), products);
    expect(all.map((line) => [line.metric.label, line.toPeers, line.verdict])).toEqual([
      ["rate-1, proxy and target", 0.75, "met"],
      ["rate-1, proxy side", undefined, undefined],
    ]);
  });

  test("an idle process, new streams for a minute and memory have bounds of their own, encrypted too", () => {
    const results = emptyResults(1);
    for (const name of ["netaminity", "netaminity-tls"]) {
      results.add("wakeups", name, 0, { "wakeups-server": 29.9, "wakeups-client": 30 });
      results.add("new-streams", name, 0, { streams: 5000, failures: 0, "time-wait": 1000 });
      results.add("memory", name, 0, { "idle-server": 16 });
    }
    results.add("tls-memory-500", "netaminity-tls", 0, { "idle-server": 15.9, "busy-streams-client": 127 });
    results.add("tls-memory-250", "netaminity-tls", 0, { "busy-streams-client": 64 });
    const all = lines(results, rowsNamed("wakeups", "new-streams", "tls-memory-500", "tls-memory-250"), products);
    const verdicts = (subject: string) =>
      all
        .filter((line) => line.metric.subject === subject)
        .map((line) => `${line.row} ${line.metric.key} ${line.verdict}`);
    const both = [
      "wakeups wakeups-server met",
      "wakeups wakeups-client missed",
      "new-streams streams undefined",
      "new-streams failures met",
      "new-streams time-wait missed",
    ];
    expect(verdicts("netaminity").toSorted()).toEqual(both.toSorted());
    expect(verdicts("netaminity-tls").toSorted()).toEqual(
      [
        ...both,
        "tls-memory-500 idle-server met",
        "tls-memory-500 busy-streams-client met",
        "tls-memory-250 busy-streams-client missed",
      ].toSorted(),
    );
  });
});
