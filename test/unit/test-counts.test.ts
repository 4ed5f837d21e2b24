import { expect, test } from "bun:test";
import { readCounts, sum } from "../../scripts/test-counts.ts";

const summary = "(pass) a\n 1 fail\n\n\n 12 pass\n 2 skip\n 1 todo\n 3 fail\n 1 error\nRan 18 tests across 2 files.\n";

test("the counts are those of the last summary", () => {
  expect(readCounts(summary, 1)).toEqual({ passed: 12, failed: 3, skipped: 3 });
});

test("colours do not hide the summary", () => {
  expect(readCounts("\u001b[32m 4 pass\u001b[0m\n 0 fail\n", 0)).toEqual({ passed: 4, failed: 0, skipped: 0 });
});

test("a run that failed without a failed test is one failure", () => {
  expect(readCounts(" 4 pass\n 0 fail\n", 1)).toEqual({ passed: 4, failed: 1, skipped: 0 });
  expect(readCounts("", 139)).toEqual({ passed: 0, failed: 1, skipped: 0 });
});

test("groups add up", () => {
  expect(sum([readCounts(summary, 1), readCounts(" 4 pass\n 0 fail\n", 0)])).toEqual({
    passed: 16,
    failed: 3,
    skipped: 3,
  });
});
