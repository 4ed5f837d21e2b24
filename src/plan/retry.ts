import type { ApplyFailure } from "./observed.ts";

/** Ports move from pair to pair when a Tunnel's nodePort changes; each step frees the next. */
const portPause = 2_000;
const otherPause = 30_000;

/**
 * When to try again what was refused, in milliseconds. What stands in the way is mostly not watched: a foreign object, a quota,
 * a rule of the cluster.
 */
export function retryPause(failures: readonly ApplyFailure[]): { requeueAfter?: number } {
  if (failures.length === 0) return {};
  return { requeueAfter: failures.every(({ kind }) => kind === "port-conflict") ? portPause : otherPause };
}

/** The sooner of that and another look, in milliseconds. */
export function sooner(
  { requeueAfter }: { requeueAfter?: number },
  other: number | undefined,
): { requeueAfter?: number } {
  const all = [requeueAfter, other].filter((pause) => pause !== undefined);
  return all.length === 0 ? {} : { requeueAfter: Math.min(...all) };
}
