import type { ObservedPod } from "./observed.ts";
import { isReady } from "./pods.ts";

/**
 * The rendezvous of a Proxy that is served by one pod leads to another one, of a newer revision or on a better node, to see whether a target gets a session there. Kept
 * with the slices: as long as that pod is the active one the attempt goes on, and when another one is active again it has failed.
 */
export interface Attempt {
  /** `pod-template-hash` of the newest pods then, version of their Secret, and uid of the pod that was tried. */
  revision: string;
  secret: string;
  pod: string;
  /** RFC 3339: when it began, or when it ended without a session. */
  since: string;
  /** How often pods of this revision got none. */
  failures: number;
}

/**
 * Milliseconds that a target has for a session with the new pod. It looks where the rendezvous leads every 2 s, and a pod with a session is ready
 * after another one or two. Meanwhile the older pod's idle data connections serve its consumers, and new ones wherever the target reaches that pod itself.
 */
export const attemptTime = 10_000;
/** Milliseconds from one attempt to the next: they double from the first of these to the last. */
const pauses = { first: 30_000, last: 5 * 60_000 };

/** When the attempt that has failed may be made again, in milliseconds since 1970. */
export function nextAttempt({ since, failures }: Attempt): number {
  return Date.parse(since) + Math.min(pauses.last, pauses.first * 2 ** (failures - 1));
}

/**
 * The same while no pod carries a session at all: the older pod is given its turn, since the revision has failed before, but not for long: perhaps the newest one is
 * what the target waits for now.
 */
export function nextTurn({ since, failures }: Attempt): number {
  return Date.parse(since) + Math.min(60_000, attemptTime * 2 ** (failures - 1));
}

/** Milliseconds until the attempt that goes on has had its time, seen from `now`; not positive when it has. */
export const timeLeft = ({ since }: Attempt, now: string): number => Date.parse(since) + attemptTime - Date.parse(now);

export interface AttemptInput {
  /** What is remembered. */
  before: Attempt | undefined;
  now: string;
  newestRevision: string | undefined;
  secretVersion: string;
  /** Where the rendezvous has led, and where it leads after this pass. */
  incumbent: ObservedPod | undefined;
  active: ObservedPod | undefined;
  /** Another pod than that carries a session; one of an older revision does. */
  isServed: boolean;
  isServedByOlder: boolean;
  /** The active pod is of an older revision; another live one is. */
  isOlder: boolean;
  hasOlder: boolean;
  /** Something speaks for another pod than the active one still. */
  isWanting: boolean;
}

/** What is to be remembered after this pass. */
export function attemptAfter(input: AttemptInput): Attempt | undefined {
  const { before, now, newestRevision: revision, incumbent, active, isServed, isServedByOlder, isWanting } = input;
  const { isOlder, hasOlder } = input;
  if (revision === undefined || active === undefined) return undefined;
  const { secretVersion: secret } = input;
  const known = before?.revision === revision ? before : undefined;
  const { uid } = active.metadata;
  const hasFailedBefore = known !== undefined && known.failures > 0;
  const canReturn = isServed || (hasOlder && hasFailedBefore);
  const begun: Attempt = { revision, secret, pod: uid, since: now, failures: known?.failures ?? 0 };
  if (incumbent !== active) {
    const hasFailed = incumbent !== undefined && incumbent.metadata.uid === known?.pod;
    if (hasFailed && (isReady(active) || isOlder)) return { ...known, since: now, failures: known.failures + 1 };
    if (isOlder && !isReady(active)) return hasFailedBefore ? known : undefined;
    return canReturn && !isReady(active) ? begun : undefined;
  }
  if (uid === known?.pod) return canReturn && !isReady(active) ? known : undefined;
  // The rendezvous was moved by an operator that remembered nothing.
  if (isServedByOlder && !isReady(active)) return begun;
  return hasFailedBefore && isWanting ? known : undefined;
}

/** As an annotation's value. */
export const attemptText = (attempt: Attempt | undefined): string =>
  attempt === undefined ? "" : JSON.stringify(attempt);

/** Undefined when there is none, or something else stands there. */
export function parseAttempt(text: string | undefined): Attempt | undefined {
  if (!text) return undefined;
  try {
    const { revision, secret, pod, since, failures } = (JSON.parse(text) ?? {}) as Partial<Attempt>;
    const isWhole =
      typeof revision === "string" &&
      typeof secret === "string" &&
      typeof pod === "string" &&
      typeof since === "string" &&
      !Number.isNaN(Date.parse(since)) &&
      typeof failures === "number" &&
      failures >= 0;
    return isWhole ? { revision, secret, pod, since, failures } : undefined;
  } catch {
    return undefined;
  }
}
