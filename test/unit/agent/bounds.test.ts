import { describe, expect, test } from "bun:test";
import { makeBackoff } from "../../../src/agent/backoff.ts";
import { Deadlines } from "../../../src/agent/deadlines.ts";
import { UsedNumbers } from "../../../src/agent/protocol/used-numbers.ts";
import { Quota } from "../../../src/agent/quota.ts";
import { PoolSize } from "../../../src/agent/target/pool-size.ts";

describe("backoff", () => {
  test("grows by half up to its cap, and starts again after a reset", () => {
    const backoff = makeBackoff({ first: 200, cap: 1000, random: () => 0.999999 });
    expect(Array.from({ length: 7 }, () => backoff.next())).toEqual([199, 299, 449, 674, 999, 999, 999]);
    backoff.reset();
    expect(backoff.next()).toBe(199);
  });

  test("may wait for any part of the bound", () => {
    expect(makeBackoff({ first: 200, cap: 1000, random: () => 0 }).next()).toBe(0);
    expect(makeBackoff({ first: 200, cap: 1000, random: () => 0.5 }).next()).toBe(100);
  });

  test("stays at its cap however many attempts fail", () => {
    const backoff = makeBackoff({ first: 200, cap: 30_000, random: () => 0.5 });
    for (let attempt = 0; attempt < 10_000; attempt += 1) backoff.next();
    expect(backoff.next()).toBe(15_000);
  });
});

describe("the size of the pool", () => {
  test("doubles when the last idle connection is used, up to its bound", () => {
    const pool = new PoolSize(2, 10);
    const sizes = [1, 0, 0, 0, 0].map((left) => {
      pool.used(left);
      return pool.size;
    });
    expect(sizes).toEqual([2, 4, 8, 10, 10]);
  });

  test("grows at once by as many as had to wait", () => {
    const pool = new PoolSize(2, 64);
    pool.missed(30);
    expect(pool.size).toBe(32);
    pool.missed(1000);
    expect(pool.size).toBe(64);
  });

  test("shrinks slowly while less than half is needed, never below its minimum", () => {
    const pool = new PoolSize(2, 64);
    pool.missed(30);
    const sizes = Array.from({ length: 14 }, () => {
      pool.settle(pool.size);
      return pool.size;
    });
    // The first look sees the burst itself.
    expect(sizes.slice(0, 4)).toEqual([32, 24, 18, 13]);
    expect(sizes.at(-1)).toBe(2);
  });

  test("stays while more than half of it is used between two looks", () => {
    const pool = new PoolSize(2, 64);
    pool.missed(30);
    pool.settle(32);
    pool.used(15);
    pool.settle(32);
    expect(pool.size).toBe(32);
  });

  test("tells how many came back from a crowd and were never needed", () => {
    const pool = new PoolSize(4, 64);
    expect([pool.settle(4), pool.settle(100)]).toEqual([0, 0]);
    // A crowd has gone, and since then not more than ten were in use at once.
    pool.used(90);
    expect(pool.settle(100)).toBe(86);
    pool.used(9);
    expect(pool.settle(14)).toBe(5);
    pool.used(3);
    expect(pool.settle(14)).toBe(0);
  });
});

describe("numbers of data connections", () => {
  test("are good once, in any order", () => {
    const numbers = new UsedNumbers(8);
    expect([3, 1, 2, 2, 3, 1, 4].map((number) => numbers.use(number))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
      true,
    ]);
  });

  test("that are far behind count as used, so that memory stays bounded", () => {
    const numbers = new UsedNumbers(8);
    for (let number = 0; number < 100; number += 2) numbers.use(number);
    expect(numbers.use(1)).toBe(false);
    expect(numbers.use(99)).toBe(true);
  });
});

describe("deadlines", () => {
  test("expire in the order of arrival, and not for what has left", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const expired: string[] = [];
    const deadlines = new Deadlines<string>(20, (item) => {
      expired.push(item);
      if (item === "c") resolve();
    });
    for (const item of ["a", "b", "c"]) deadlines.add(item);
    expect(deadlines.oldest).toBe("a");
    expect([deadlines.delete("b"), deadlines.delete("b")]).toEqual([true, false]);
    await promise;
    expect({ expired, size: deadlines.size }).toEqual({ expired: ["a", "c"], size: 0 });
  });

  test("work again after they have been empty", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const deadlines = new Deadlines<string>(5, resolve);
    deadlines.add("gone");
    deadlines.clear();
    deadlines.add("late");
    expect(await promise).toBe("late");
  });
});

test("a quota lets a burst through and counts what it leaves out", () => {
  const quota = new Quota(3, 0);
  const written: (number | undefined)[] = [];
  for (let line = 0; line < 10; line += 1) quota.spend((suppressed) => written.push(suppressed));
  expect(written).toEqual([undefined, undefined, undefined]);
});
