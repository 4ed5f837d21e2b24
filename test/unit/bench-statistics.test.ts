import { describe, expect, test } from "bun:test";
import { median, medianRatio, rotated } from "../bench/statistics.ts";

describe("statistics of the benchmark", () => {
  test("the median of an odd count is the middle value, of an even count the mean of the two middle ones", () => {
    expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([10, 9])]).toEqual([2, 2.5, 9.5]);
  });

  test("a round without a value does not count", () => {
    expect([median([undefined, 5, undefined]), median([undefined]), median([])]).toEqual([5, undefined, undefined]);
  });

  test("ratios are taken inside each round, against the best rival of that round", () => {
    const subject = [10, 40, 30];
    const rivals = [
      [5, 20, 10],
      [4, 10, 20],
    ];
    // 10/5, 40/20, 30/20
    expect(medianRatio(subject, rivals, "higher")).toBe(2);
    // 10/4, 40/10, 30/10
    expect(medianRatio(subject, rivals, "lower")).toBe(3);
  });

  test("rounds in which the subject or all rivals failed are left out of the ratio", () => {
    const rivals = [
      [1, undefined, 4],
      [2, undefined, undefined],
    ];
    expect(medianRatio([undefined, 7, 8], rivals, "higher")).toBe(2);
    expect(medianRatio([1, 2, 3], [], "higher")).toBeUndefined();
    expect(medianRatio([1], [[0]], "lower")).toBeUndefined();
  });

  test("each round starts with the next product", () => {
    expect([0, 1, 2, 3].map((round) => rotated(["a", "b", "c"], round).join(""))).toEqual(["abc", "bca", "cab", "abc"]);
    expect(rotated([], 4)).toEqual([]);
  });
});
