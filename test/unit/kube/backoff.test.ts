import { expect, test } from "bun:test";
import { backoffDelay, pause } from "../../../src/kube/backoff.ts";

test("the pause doubles with each failure until the cap, with at most half of it taken off", () => {
  const at = (random: number) => (failures: number) =>
    backoffDelay(failures, { first: 200, cap: 5000, random: () => random });
  expect([1, 2, 3, 4, 5, 6, 7, 1000].map(at(1))).toEqual([200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
  expect([1, 2, 3, 4, 5, 6, 7, 1000].map(at(0))).toEqual([100, 200, 400, 800, 1600, 2500, 2500, 2500]);
});

test("a pause ends at once when its signal fires, and does not begin when it has fired already", async () => {
  const abort = new AbortController();
  const waiting = pause(3_600_000, abort.signal);
  abort.abort();
  await waiting;
  await pause(3_600_000, abort.signal);
});
