import { readdirSync, readFileSync } from "node:fs";

/** Descriptors that no listener may use: files, DNS sockets and dials need some at any moment. */
const reserved = 12;

interface Budget {
  /** Soft limit of open files (RLIMIT_NOFILE). */
  limit: number;
  /** Descriptors in use that are no wires. */
  base: number;
}

let budget: Budget | undefined;

/** Whether `openWires` sockets leave at least `spare` descriptors free. Always true where /proc is absent. */
export function hasDescriptors(openWires: number, spare: number): boolean {
  budget ??= readBudget(openWires);
  return openWires + budget.base + reserved + spare <= budget.limit;
}

function readBudget(openWires: number): Budget {
  const limit = openFileLimit();
  try {
    return { limit, base: Math.max(0, readdirSync("/proc/self/fd").length - openWires) };
  } catch {
    return { limit, base: 0 };
  }
}

/** RLIMIT_NOFILE as it is for this process; infinite where /proc is absent. */
export function openFileLimit(): number {
  try {
    const soft = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined || soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
