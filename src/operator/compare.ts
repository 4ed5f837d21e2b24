import type { DesiredObject } from "../plan/plan.ts";
import type { CachedObject } from "./caches.ts";

/**
 * Whether every owned field of the live object is as wanted. Fields of others do not matter, nor do their entries in lists that a server-side apply
 * merges by key; in every other list, and in selectors, one more entry changes what ours mean.
 */
export function isAsWanted(wanted: DesiredObject, live: CachedObject): boolean {
  return holds(wanted, live, "");
}

/** The wanted lists that the live object has otherwise, as a JSON merge patch. Undefined when all are as wanted. */
export function changedLists(wanted: DesiredObject, live: CachedObject): Fields | undefined {
  const { metadata: _, ...content } = wanted;
  return changedListsIn(content, live as unknown as Fields, "");
}

type Fields = Record<string, unknown>;

function changedListsIn(wanted: Fields, live: Fields, path: string): Fields | undefined {
  const changed: Fields = {};
  for (const [key, value] of Object.entries(wanted)) {
    const [found, place] = [live[key], `${path}.${key}`];
    if (Array.isArray(value) && !holds(value, found, place)) {
      changed[key] = value;
    } else if (isRecord(value)) {
      changed[key] = changedListsIn(value, isRecord(found) ? found : {}, place);
    }
  }
  return Object.values(changed).every((value) => value === undefined) ? undefined : changed;
}

/** Maps in which one more entry changes what the others mean; the API treats them as one value, which an apply replaces. */
const exactMaps = /\.(selector|matchLabels|nodeSelector)$/;

/** Where every map is exact: one more selector of a peer would let others in, or fewer. */
const exactTree = /^\.spec\.(ingress|networkPolicy)\b/;

/** Where resource quantities stand, which the API server rewrites ("0.5" becomes "500m"). */
const quantities = /\.resources\.(requests|limits)\./;

const pod = ".spec.template.spec";
/** Of the lists that are written, those that are merged by key (`listType=map` in Kubernetes' API). */
const sharedLists = new Set([
  ".metadata.ownerReferences",
  ".spec.ports",
  `${pod}.imagePullSecrets`,
  `${pod}.topologySpreadConstraints`,
  `${pod}.volumes`,
  `${pod}.containers`,
  `${pod}.containers.env`,
  `${pod}.containers.ports`,
  `${pod}.containers.volumeMounts`,
]);

/** `path` leads from the object to the value, each name behind a dot; entries of a list have that of the list. */
function holds(wanted: unknown, live: unknown, path: string): boolean {
  if (live === undefined || live === null) {
    return isEmpty(wanted);
  }
  if (Array.isArray(wanted)) {
    if (!Array.isArray(live)) {
      return false;
    }
    return sharedLists.has(path)
      ? wanted.every((item) => live.some((other) => holds(item, other, path)))
      : live.length === wanted.length && wanted.every((item, i) => holds(item, live[i], path));
  }
  if (isRecord(wanted)) {
    return (
      isRecord(live) &&
      !((exactMaps.test(path) || exactTree.test(path)) && Object.keys(live).some((key) => !(key in wanted))) &&
      Object.entries(wanted).every(([key, value]) => holds(value, live[key], `${path}.${key}`))
    );
  }
  return wanted === undefined || wanted === live || (quantities.test(path) && sameQuantity(wanted, live));
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
