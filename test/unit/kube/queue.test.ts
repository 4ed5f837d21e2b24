import { expect, test } from "bun:test";
import { createQueue } from "../../../src/kube/queue.ts";

test("a key that is added several times is handed out once", async () => {
  const queue = createQueue();
  for (const key of ["a", "b", "a", "a"]) {
    queue.add(key);
  }
  expect(queue.depth).toBe(2);
  expect([await queue.next(), await queue.next()]).toEqual(["a", "b"]);
  expect(queue.depth).toBe(0);
});

test("a key that changes while it is worked on comes again, but only after it was given back", async () => {
  const queue = createQueue();
  queue.add("a");
  await queue.next();
  queue.add("a");
  queue.add("a");
  const second = queue.next();
  queue.add("b");
  expect(await second).toBe("b");
  const third = queue.next();
  queue.done("a");
  expect(await third).toBe("a");
  queue.done("a");
  expect(queue.depth).toBe(0);
});

test("whoever waits gets the next key", async () => {
  const queue = createQueue();
  const taken = Promise.all([queue.next(), queue.next()]);
  queue.add("a");
  queue.add("b");
  expect(await taken).toEqual(["a", "b"]);
});

test("a delayed key comes after its time, and the earliest time counts", async () => {
  const queue = createQueue();
  const began = performance.now();
  queue.addAfter("late", 3_600_000);
  queue.addAfter("late", 30);
  queue.addAfter("late", 3_600_000);
  expect(queue.depth).toBe(0);
  expect(await queue.next()).toBe("late");
  expect(performance.now() - began).toBeGreaterThanOrEqual(29);
  queue.stop();
});

test("failures of a key lengthen its pause until they are forgotten", () => {
  const queue = createQueue({ firstBackoff: 1000, maxBackoff: 8000 });
  const pauses = [1, 2, 3, 4, 5, 6].map(() => queue.addRateLimited("a"));
  const longest = [1000, 2000, 4000, 8000, 8000, 8000];
  expect(pauses.map((pause, i) => pause <= (longest[i] ?? 0) && pause >= (longest[i] ?? 0) / 2)).toEqual(
    Array(6).fill(true),
  );
  queue.forget("a");
  expect(queue.addRateLimited("a")).toBeLessThanOrEqual(1000);
  queue.stop();
});

test("stopping ends every wait and drops what was queued", async () => {
  const depths: number[] = [];
  const queue = createQueue({ onDepth: (depth) => depths.push(depth) });
  const waiting = queue.next();
  queue.stop();
  expect(await waiting).toBeUndefined();
  queue.add("a");
  queue.addAfter("b", 0);
  expect(await queue.next()).toBeUndefined();
  expect(queue.depth).toBe(0);
  expect(depths.at(-1)).toBe(0);
});
