import { type Attempt, attemptAfter, nextAttempt, nextTurn, timeLeft } from "./attempt.ts";
import type { ObservedNode, ObservedPod, ProbeResult } from "./observed.ts";
import { betterPlaced, crowdOn, untilHarmless } from "./placement.ts";
import { isLive, isNewest, isOnReadyNode, isReady, isStaying, runningContainer } from "./pods.ts";

/** Milliseconds: times are written in whole seconds. */
const clockStep = 1000;
/** Probes in a row without an answer after which a pod counts as silent: 1.3 s after the first of them was asked, since an active pod is asked again beside it. */
const silentAfter = 3;

/** Why the rendezvous left the pod that it led to. */
export type Departure =
  | "is gone"
  | "is being deleted"
  | "does not run any more"
  | "was restarted"
  | "is on a node that is not ready"
  | "does not answer any more"
  | "is of an older revision"
  | "got no session"
  | "is on one node with the active pod of another pair";

export interface ActivePodInput {
  /** The pods of the Proxy's Deployment, oldest first. */
  pods: readonly ObservedPod[];
  /** `pod-template-hash` of the Deployment's newest revision. */
  newestRevision: string | undefined;
  nodes: readonly ObservedNode[] | undefined;
  probes: readonly ProbeResult[];
  /** The pod in the EndpointSlice now, and the container that ran in it when it was chosen. */
  current: { uid: string; containerId: string | undefined } | undefined;
  /** Nodes that another pair of the same Tunnel should have for itself. */
  takenNodes: readonly string[];
  /** What is remembered of attempts to serve from another pod. */
  attempt: Attempt | undefined;
  /** Version of the Secret, whose correction may be what those pods waited for. */
  secretVersion: string;
  /** RFC 3339. */
  now: string;
}

export interface ActivePodChoice {
  /** The pod to which the rendezvous shall lead. */
  active: ObservedPod | undefined;
  /** Set when that is another pod than before. */
  departure: Departure | undefined;
  /** Pods that Kubernetes still takes for ready though they are silent and replaced: consumers must stop being sent there. */
  silent: ObservedPod[];
  /** What is to be remembered. */
  attempt: Attempt | undefined;
  /** Milliseconds until time alone may change the choice. */
  lookAgain: number | undefined;
}

/**
 * Chooses the one proxy pod to which the rendezvous leads. The current one is kept unless something speaks against it *and*
 * another is better: without evidence for a standby there is no switch.
 */
export function chooseActivePod(input: ActivePodInput): ActivePodChoice {
  const { pods, current } = input;
  const incumbent = pods.find(({ metadata }) => metadata.uid === current?.uid);
  if (current === undefined) return chosen(bestOf(candidates(undefined, "is gone", input), input), undefined, input);
  const objections = objectionsTo(incumbent, input);
  for (const objection of objections) {
    const successor = bestOf(candidates(incumbent, objection, input), input);
    if (successor !== undefined) return chosen(successor, objection, input);
  }
  // Nobody is better. A pod that may come back keeps its place; one that will not is no address to send a Target to.
  if (incumbent !== undefined && isStaying(incumbent)) return chosen(incumbent, undefined, input);
  return chosen(undefined, objections[0], input);
}

function chosen(
  active: ObservedPod | undefined,
  departure: Departure | undefined,
  input: ActivePodInput,
): ActivePodChoice {
  const { current, pods, newestRevision, now, attempt: before } = input;
  const others = servingOthers(active, input);
  const attempt = attemptAfter({
    before,
    now,
    newestRevision,
    secretVersion: input.secretVersion,
    incumbent: pods.find(({ metadata }) => metadata.uid === current?.uid),
    active,
    isServed: others.length > 0,
    isServedByOlder: others.some((pod) => !isNewest(pod, newestRevision)),
    isOlder: active !== undefined && !isNewest(active, newestRevision),
    hasOlder: liveOlder(active, input).length > 0,
    isWanting: active !== undefined && (!isNewest(active, newestRevision) || crowdOn(active, input) > 0),
  });
  return {
    active,
    departure,
    silent: active === undefined ? [] : replacedAndSilent(active, input),
    attempt,
    lookAgain: soonest(attempt && waitingTime(attempt, active, now), placeTime(active, input)),
  };
}

function soonest(...waits: (number | undefined)[]): number | undefined {
  const soon = Math.min(...waits.filter((wait) => wait !== undefined));
  return Number.isFinite(soon) ? Math.max(0, soon) + clockStep : undefined;
}

/** Milliseconds until the active pod may give its place to a standby on an emptier node. */
function placeTime(active: ObservedPod | undefined, input: ActivePodInput): number | undefined {
  if (active === undefined || active.metadata.uid !== input.current?.uid) return undefined;
  const waits = betterPlaced(active, input).map((pod) => untilHarmless(active, pod, input));
  // What may be done now and is not done waits for something else.
  return Math.min(...waits.filter((wait) => wait > 0));
}

function waitingTime(attempt: Attempt, active: ObservedPod | undefined, now: string): number {
  if (active?.metadata.uid === attempt.pod) return timeLeft(attempt, now);
  const next = active !== undefined && isReady(active) ? nextAttempt(attempt) : nextTurn(attempt);
  return next - Date.parse(now);
}

/** Other pods that carry a session. Silence counts only where the operator reaches pods at all. */
function servingOthers(than: ObservedPod | undefined, { pods, nodes, probes }: ActivePodInput): ObservedPod[] {
  const canProbe = probes.some(({ healthy }) => healthy);
  const carries = (pod: ObservedPod) => isReady(pod) && isLive(pod, nodes) && !(canProbe && isSilent(pod, probes));
  return pods.filter((pod) => pod !== than && carries(pod));
}

/** Other pods of an older revision that could be the active one, with a session or without. */
function liveOlder(than: ObservedPod | undefined, { pods, nodes, newestRevision }: ActivePodInput): ObservedPod[] {
  return pods.filter((pod) => pod !== than && isLive(pod, nodes) && !isNewest(pod, newestRevision));
}

/** What speaks against the pod in the slice, the surest first. */
function objectionsTo(incumbent: ObservedPod | undefined, input: ActivePodInput): Departure[] {
  if (incumbent === undefined) return ["is gone"];
  if (incumbent.metadata.deletionTimestamp !== undefined) return ["is being deleted"];
  if (!isStaying(incumbent)) return ["is gone"];
  const { current, nodes, probes, newestRevision, attempt, now } = input;
  const container = runningContainer(incumbent);
  const hasRestarted = current?.containerId !== undefined && container !== current.containerId;
  const isOutdated = newestRevision !== undefined && !isNewest(incumbent, newestRevision);
  const isFruitless = !isReady(incumbent) && attempt?.pod === incumbent.metadata.uid && timeLeft(attempt, now) <= 0;
  return [
    ...(container === undefined ? (["does not run any more"] as const) : []),
    ...(container !== undefined && hasRestarted ? (["was restarted"] as const) : []),
    ...(isOnReadyNode(incumbent, nodes) ? [] : (["is on a node that is not ready"] as const)),
    ...(isSilent(incumbent, probes) ? (["does not answer any more"] as const) : []),
    ...(isOutdated ? (["is of an older revision"] as const) : []),
    ...(isFruitless ? (["got no session"] as const) : []),
    ...(crowdOn(incumbent, input) > 0 ? (["is on one node with the active pod of another pair"] as const) : []),
  ];
}

/** The pods that could take over, given what speaks against the current one. */
function candidates(incumbent: ObservedPod | undefined, objection: Departure, input: ActivePodInput): ObservedPod[] {
  const { pods, nodes, probes, newestRevision, attempt, current } = input;
  const others = pods.filter((pod) => pod !== incumbent && isLive(pod, nodes));
  switch (objection) {
    case "does not answer any more":
      // Kubernetes has nothing against the current pod. Perhaps it is the operator that reaches nobody: only an answer counts.
      return others.filter((pod) => hasAnswered(pod, probes));
    case "got no session": {
      const serving = servingOthers(incumbent, input);
      const hasFailedBefore = attempt !== undefined && attempt.failures > 0;
      return serving.length > 0 || !hasFailedBefore ? serving : liveOlder(incumbent, input);
    }
    case "is of an older revision": {
      if (isResting(incumbent, input)) return [];
      // A new pod that is silent while the old one answers is not up yet; where no pod can be probed, that says nothing.
      const canProbe = incumbent !== undefined && hasAnswered(incumbent, probes);
      const newest = others.filter((pod) => isNewest(pod, newestRevision) && !(canProbe && hasFailed(pod, probes)));
      // Perhaps it was that pod's node.
      const untried = newest.filter((pod) => pod.metadata.uid !== attempt?.pod);
      return untried.length > 0 ? untried : newest;
    }
    case "is on one node with the active pod of another pair": {
      if (incumbent === undefined || isResting(incumbent, input)) return [];
      return betterPlaced(incumbent, input).filter((pod) => untilHarmless(incumbent, pod, input) <= 0);
    }
    default: {
      // One that was only tried gives its place back.
      const serving = attempt !== undefined && attempt.pod === current?.uid ? servingOthers(incumbent, input) : [];
      return serving.length > 0 ? serving : others;
    }
  }
}

/** Others have been tried in vain not long ago. */
function isResting(incumbent: ObservedPod | undefined, { attempt, newestRevision, now }: ActivePodInput): boolean {
  if (incumbent === undefined || attempt === undefined || attempt.revision !== newestRevision) return false;
  if (isReady(incumbent)) return nextAttempt(attempt) > Date.parse(now);
  return attempt.failures > 0 && nextTurn(attempt) > Date.parse(now);
}

/** Newest revision first, then one that carries a session already, then one that answers, then one on the node with the fewest pairs before it, then the oldest. */
function bestOf(pods: readonly ObservedPod[], input: ActivePodInput): ObservedPod | undefined {
  const { newestRevision, probes } = input;
  const rank = (pod: ObservedPod) =>
    (isSilent(pod, probes) ? -8 : 0) +
    (isNewest(pod, newestRevision) ? 4 : 0) +
    (isReady(pod) ? 2 : 0) +
    (hasAnswered(pod, probes) ? 1 : 0);
  // Sorting is stable, so that equals stay in order of age.
  return pods.toSorted((a, b) => rank(b) - rank(a) || crowdOn(a, input) - crowdOn(b, input))[0];
}

/**
 * Once the active pod carries the session and answers, a pod that Kubernetes still calls ready but that is silent only
 * swallows consumers: about 40 s pass until a lost node's pods are marked.
 */
function replacedAndSilent(active: ObservedPod, { pods, probes }: ActivePodInput): ObservedPod[] {
  if (!isReady(active) || !hasAnswered(active, probes)) return [];
  return pods.filter((pod) => pod !== active && isReady(pod) && isSilent(pod, probes));
}

const probeOf = (pod: ObservedPod, probes: readonly ProbeResult[]) =>
  probes.find(({ podUid }) => podUid === pod.metadata.uid);
export const isSilent = (pod: ObservedPod, probes: readonly ProbeResult[]): boolean =>
  (probeOf(pod, probes)?.failures ?? 0) >= silentAfter;
export const hasAnswered = (pod: ObservedPod, probes: readonly ProbeResult[]): boolean =>
  probeOf(pod, probes)?.healthy === true;
const hasFailed = (pod: ObservedPod, probes: readonly ProbeResult[]): boolean =>
  probeOf(pod, probes)?.healthy === false;
