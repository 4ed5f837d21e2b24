import { expect, test } from "bun:test";
import { type Connection, impactOf, isCalm } from "../support/e2e/impact.ts";
import { formatTable } from "../support/e2e/table.ts";

/** A new connection every 100 ms from 1000 on that takes 10 ms, changed where the test says so. */
function connections(count: number, changes: Record<number, Partial<Connection>> = {}): Connection[] {
  return Array.from({ length: count }, (_, position) => {
    const at = 1000 + 100 * position;
    return { kind: "new", port: 10_000, at, took: 10, result: "ok", ...changes[at] };
  });
}

test("an undisturbed load has recovered at once", () => {
  expect(impactOf(connections(10), 1500)).toEqual({
    ...{ attempts: 5, failed: [], broken: [], corrupt: 0, recovered: 0, longestGap: 100 },
  });
});

test("recovery ends with the first connection after the last one that failed or was slow", () => {
  const refused = { result: "refused" };
  const impact = impactOf(connections(10, { 1200: refused, 1300: refused, 1500: { took: 1600 } }), 1150);
  expect(impact.failed.map(({ at }) => at)).toEqual([1200, 1300]);
  expect([impact.recovered, impact.longestGap]).toEqual([1610 - 1150, 3100 - 1910]);
});

test("a load whose last connection failed has never recovered", () => {
  expect(impactOf(connections(3, { 1200: { result: "reset" } }), 1000).recovered).toBe(Number.POSITIVE_INFINITY);
});

test("a connection that began before the fault and broke through it counts", () => {
  const hanging: Connection = { kind: "new", port: 10_000, at: 900, took: 5000, result: "timeout" };
  const broken: Connection = { kind: "stream", port: 10_000, at: 100, took: 1100, result: "reset" };
  const ended: Connection = { kind: "stream", port: 10_000, at: 100, took: 700, result: "reset" };
  const impact = impactOf([hanging, broken, ended, ...connections(3)], 1000);
  expect([impact.failed, impact.broken]).toEqual([[hanging], [broken]]);
  expect(impact.recovered).toBe(10);
});

test("wrong bytes are counted on every kind of connection", () => {
  const corrupt = { result: "corrupt" };
  const stream: Connection = { kind: "stream", port: 10_000, at: 1000, took: 500, result: "corrupt" };
  expect(impactOf([stream, ...connections(5, { 1100: corrupt })], 1000).corrupt).toBe(2);
});

test("calm needs enough connections, all of them good, and none that hangs", () => {
  const load = connections(30);
  const state = { at: 4000, pending: [3950], streams: 4 };
  expect(isCalm(load, state, 3000)).toBe(true);
  expect(isCalm(load, { ...state, pending: [2000] }, 3000)).toBe(false);
  expect(isCalm(connections(30, { 2000: { result: "reset" } }), state, 3000)).toBe(false);
  expect(isCalm(load.slice(-5), state, 3000)).toBe(false);
});

test("the table names what failed and whether the goal was met", () => {
  const refused = { result: "refused" };
  const rows = [
    { scenario: "nothing", goal: 0, impact: impactOf(connections(2), 1000) },
    { scenario: "agent killed", goal: 300, impact: impactOf(connections(8, { 1300: refused, 1400: refused }), 1150) },
  ];
  expect(formatTable(rows).replaceAll(/ +/g, " ").split("\n").slice(2)).toEqual([
    "nothing 0 0 of 2 0 0.1 s 0: met",
    "agent killed 0.4 s 2 of 6 (2 refused) 0 0.3 s 0.3 s: MISSED",
  ]);
});
