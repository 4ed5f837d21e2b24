/** How many tests ended how. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Reads the summary that ends the output of `bun test` (` 12 pass`, ` 1 fail`, ` 2 skip`, ` 1 todo`). It is the only report that counts
 * files which failed to load. A process that failed without a failed test (a crash, a deadline) is one failure.
 */
export function readCounts(output: string, exitCode: number): Counts {
  const plain = Bun.stripANSI(output);
  const count = (word: string) => Number([...plain.matchAll(new RegExp(`^ (\\d+) ${word}$`, "gm"))].at(-1)?.[1] ?? 0);
  const failed = count("fail");
  return {
    passed: count("pass"),
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: count("skip") + count("todo"),
  };
}

export function sum(counts: readonly Counts[]): Counts {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const { passed, failed, skipped } of counts) {
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
  }
  return total;
}
