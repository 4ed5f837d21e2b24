import type { ObservedNode, ObservedPod, ProbeResult } from "./observed.ts";
import { agentStatus, isLive, isNewest, isReady } from "./pods.ts";

// The active pods of the pairs of one Tunnel belong on different nodes, or the loss of one node stops all of them. Pods come up one after the other, and
// nodes go and return, so a choice that was right has to be corrected later. Consumers do not notice that (the target has its second session first), but only
// while nothing else goes on; and they would notice it each time at a node that comes and goes.

/** Milliseconds for which a standby must have run, on a node that has been ready, before a pod that serves consumers gives its place to it. */
const restTime = 30_000;

interface PlacementInput {
  /** The pods of the Proxy's Deployment. */
  pods: readonly ObservedPod[];
  newestRevision: string | undefined;
  nodes: readonly ObservedNode[] | undefined;
  probes: readonly ProbeResult[];
  /** A node stands there once for each pair of lower index that has its active pod there. */
  takenNodes: readonly string[];
  now: string;
}

/** How many pairs of lower index have their active pods on the node of this pod. */
export function crowdOn({ spec }: ObservedPod, { takenNodes }: Pick<PlacementInput, "takenNodes">): number {
  return takenNodes.filter((node) => node === spec?.nodeName).length;
}

/**
 * The standbys on emptier nodes that may have the place of an active pod which shares its node. Where the operator reaches pods at all, only one that
 * answers. A pair yields to those of lower index alone, so that each has its place once those below it have theirs: no two can chase each other.
 */
export function betterPlaced(incumbent: ObservedPod, input: PlacementInput): ObservedPod[] {
  const { pods, nodes, newestRevision, probes } = input;
  const answers = new Set(probes.filter(({ healthy }) => healthy).map(({ podUid }) => podUid));
  const emptier = pods.filter(
    (pod) =>
      isLive(pod, nodes) &&
      isNewest(pod, newestRevision) &&
      (answers.size === 0 || answers.has(pod.metadata.uid)) &&
      crowdOn(pod, input) < crowdOn(incumbent, input),
  );
  const least = Math.min(...emptier.map((pod) => crowdOn(pod, input)));
  return emptier.filter((pod) => crowdOn(pod, input) === least);
}

/**
 * Milliseconds until a move to that standby harms nobody: infinite while something else goes on, not positive when it may be made now. While no pod of the
 * Proxy carries a session, nobody can be harmed.
 */
export function untilHarmless(incumbent: ObservedPod, standby: ObservedPod, input: PlacementInput): number {
  const { pods, newestRevision, now } = input;
  const serving = pods.filter(isReady);
  if (serving.length === 0) return 0;
  const isAtRest =
    serving.length === 1 &&
    serving[0] === incumbent &&
    pods.every((pod) => pod.metadata.deletionTimestamp === undefined && isNewest(pod, newestRevision));
  return isAtRest ? restedAt(standby, input.nodes) - Date.parse(now) : Number.POSITIVE_INFINITY;
}

/** When the pod, and the node that it is on, have been well for long enough, in milliseconds since 1970. */
function restedAt(pod: ObservedPod, nodes: readonly ObservedNode[] | undefined): number {
  const node = nodes?.find(({ metadata }) => metadata.name === pod.spec?.nodeName);
  const nodeReady = node?.status?.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime;
  const times = [agentStatus(pod)?.state?.running?.startedAt, nodeReady];
  return Math.max(...times.map((time) => (time === undefined ? 0 : Date.parse(time)))) + restTime;
}
