import { agentContainer } from "../desired/deployment.ts";
import type { ObservedDeployment, ObservedNode, ObservedPod, ObservedReplicaSet } from "./observed.ts";
import { ownedBy } from "./ownership.ts";

/** Label that a Deployment puts on the pods and the ReplicaSet of one revision of its template. */
const revisionLabel = "pod-template-hash";
const revisionNumber = "deployment.kubernetes.io/revision";

/** The pods of one Deployment, and which revision is its newest. */
export interface Workload {
  pods: ObservedPod[];
  /** `pod-template-hash` of the newest revision; undefined while there is no ReplicaSet. */
  newestRevision: string | undefined;
}

/** Follows controller references from the Deployment over its ReplicaSets to its pods: labels alone could be anybody's. */
export function workloadOf(
  deployment: ObservedDeployment | undefined,
  replicaSets: readonly ObservedReplicaSet[],
  pods: readonly ObservedPod[],
): Workload {
  if (deployment === undefined) return { pods: [], newestRevision: undefined };
  const owned = ownedBy(deployment, replicaSets);
  const [newest] = owned.toSorted((a, b) => revisionOf(b) - revisionOf(a));
  return {
    pods: owned.flatMap((replicaSet) => ownedBy(replicaSet, pods)).toSorted(byAge),
    newestRevision: newest?.metadata.labels?.[revisionLabel],
  };
}

export const isNewest = (pod: ObservedPod, newestRevision: string | undefined): boolean =>
  newestRevision !== undefined && pod.metadata.labels?.[revisionLabel] === newestRevision;

/** Exists and is meant to stay: neither being deleted nor ended for good (evicted, for example). */
export function isStaying(pod: ObservedPod): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined && pod.status?.phase !== "Failed" && pod.status?.phase !== "Succeeded"
  );
}

export function agentStatus(pod: ObservedPod) {
  return pod.status?.containerStatuses?.find(({ name }) => name === agentContainer);
}

/** Id of the agent container if it runs now. */
export function runningContainer(pod: ObservedPod): string | undefined {
  const status = agentStatus(pod);
  return status?.state?.running === undefined ? undefined : status.containerID;
}

export function isReady(pod: ObservedPod): boolean {
  return (
    isStaying(pod) && pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
  );
}

/** Whether Kubernetes says that the node is well. Without the right to read nodes nothing is known against it. */
export function isOnReadyNode(pod: ObservedPod, nodes: readonly ObservedNode[] | undefined): boolean {
  if (nodes === undefined) return true;
  const node = nodes.find(({ metadata }) => metadata.name === pod.spec?.nodeName);
  return node?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
}

/** Stays, runs, has an address, and its node is well: fit to be the active proxy pod, ready or not. */
export function isLive(pod: ObservedPod, nodes: readonly ObservedNode[] | undefined): boolean {
  return (
    isStaying(pod) && runningContainer(pod) !== undefined && addressesOf(pod).length > 0 && isOnReadyNode(pod, nodes)
  );
}

/** Addresses of the pod, at most one per family. */
export function addressesOf(pod: ObservedPod): { family: "IPv4" | "IPv6"; address: string }[] {
  const { podIP, podIPs = podIP === undefined ? [] : [{ ip: podIP }] } = pod.status ?? {};
  const all = podIPs.flatMap(({ ip }) =>
    ip ? [{ family: ip.includes(":") ? "IPv6" : "IPv4", address: ip } as const] : [],
  );
  return (["IPv4", "IPv6"] as const).flatMap((family) => all.find((each) => each.family === family) ?? []);
}

function revisionOf(replicaSet: ObservedReplicaSet): number {
  return Number(replicaSet.metadata.annotations?.[revisionNumber] ?? 0);
}

function byAge(a: ObservedPod, b: ObservedPod): number {
  const [earlier, later] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  if (earlier !== later) return earlier < later ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
