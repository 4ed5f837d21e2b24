import { readdirSync, readFileSync, statSync } from "node:fs";

/** Descriptors that no listener may use: files, DNS sockets and dials need some at any moment. */
const reserved = 12;

/** Milliseconds for which a count is good, and the least part of the time that counting leaves to everything else. */
const countInterval = 1000;
const countShare = 100;

let limit: number | undefined;
/** Descriptors in use that are no wires, when they were last counted, and the time from which on they are counted again. */
let base = 0;
let nextCount = 0;

/** Whether `openWires` sockets leave at least `spare` descriptors free. Always true where /proc is absent. */
export function hasDescriptors(openWires: number, spare: number): boolean {
  return floor(openWires) + openWires + spare <= openFileLimit();
}

/** Why `needed` sockets cannot be had together, also if none were open; undefined when they can. */
export function descriptorShortage(openWires: number, needed: number): string | undefined {
  const enough = floor(openWires) + needed;
  return enough <= openFileLimit()
    ? undefined
    : `open files are limited to ${openFileLimit()}, and serving a consumer takes ${enough} (ulimit -n, LimitNOFILE)`;
}

/** Soft limit of open files (RLIMIT_NOFILE); infinite where /proc is absent. */
export function openFileLimit(): number {
  if (limit === undefined) {
    try {
      const soft = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
      limit = soft === undefined || soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
    } catch {
      limit = Number.POSITIVE_INFINITY;
    }
  }
  return limit;
}

/** Descriptors that wires cannot have. What else is open changes: requests for health and metrics, files, sockets that a resolver keeps. */
function floor(openWires: number): number {
  const start = performance.now();
  if (start >= nextCount) {
    base = Math.max(0, countOpen() - openWires);
    const end = performance.now();
    nextCount = end + Math.max(countInterval, countShare * (end - start));
  }
  return base + reserved;
}

/** The folder's size is their number since Linux 6.2 and takes 5 us; listing 15,000 takes 24 ms. 0 where /proc is absent. */
function countOpen(): number {
  const folder = "/proc/self/fd";
  try {
    return statSync(folder).size || readdirSync(folder).length;
  } catch {
    return 0;
  }
}
