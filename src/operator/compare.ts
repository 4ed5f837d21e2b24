import type { DesiredObject } from "../plan/plan.ts";
import type { CachedObject } from "./caches.ts";

/** Whether every owned field of the live object is as wanted. Fields of others do not matter. */
export function isAsWanted(wanted: DesiredObject, live: CachedObject): boolean {
  return holds(wanted, live, "");
}

/**
 * The JSON merge patch that undoes what others added inside of owned fields: entries of lists and of selectors. Server-side apply keeps
 * such additions, though a Service with one more key in its selector leads nowhere. Undefined when there is nothing to undo.
 */
export function restoration(wanted: DesiredObject, live: CachedObject): Record<string, unknown> | undefined {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...content } = wanted;
  return difference(content, live as unknown as Fields, "");
}

type Fields = Record<string, unknown>;

function difference(wanted: Fields, live: Fields, parent: string): Fields | undefined {
  const patch: Fields = {};
  if (exactParents.has(parent)) {
    for (const key of Object.keys(live).filter((name) => !(name in wanted))) {
      patch[key] = null;
    }
  }
  for (const [key, value] of Object.entries(wanted)) {
    const found = live[key];
    if (holds(value, found, key)) {
      continue;
    }
    const inner = isRecord(value) && isRecord(found) ? difference(value, found, key) : value;
    if (inner !== undefined) {
      patch[key] = inner;
    }
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Maps in which one more entry changes what the others mean; the API treats them as one value. */
const exactParents = new Set(["selector", "matchLabels", "nodeSelector"]);

/** Where resource quantities stand, which the API server rewrites ("0.5" becomes "500m"). */
const quantityParents = new Set(["requests", "limits"]);

function holds(wanted: unknown, live: unknown, parent: string): boolean {
  if (live === undefined || live === null) {
    return isEmpty(wanted);
  }
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length && wanted.every((item, i) => holds(item, live[i], ""));
  }
  if (isRecord(wanted)) {
    return (
      isRecord(live) &&
      !(exactParents.has(parent) && Object.keys(live).some((key) => !(key in wanted))) &&
      Object.entries(wanted).every(([key, value]) =>
        holds(value, live[key], quantityParents.has(parent) ? parent : key),
      )
    );
  }
  return wanted === undefined || wanted === live || (quantityParents.has(parent) && sameQuantity(wanted, live));
}

/** What the API server leaves out of its answers. */
function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) {
    return value.length === 0;
  }
  if (isRecord(value)) {
    return Object.values(value).every(isEmpty);
  }
  return value === undefined || value === null || value === "" || value === false || value === 0;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const quantityUnits: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

function sameQuantity(one: unknown, other: unknown): boolean {
  const [a, b] = [quantity(one), quantity(other)];
  return a !== undefined && b !== undefined && Math.abs(a - b) <= 1e-9 * Math.abs(a);
}

function quantity(value: unknown): number | undefined {
  const match = /^([+-]?\d*\.?\d+(?:[eE][+-]?\d+)?)([numkMGTPE]?i?)$/.exec(String(value));
  const unit = quantityUnits[match?.[2] ?? "none"];
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit;
}
