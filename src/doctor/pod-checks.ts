import type { ObservedDeployment, ObservedNode, ObservedPod } from "../plan/observed.ts";
import { agentStatus, isOnReadyNode, isStaying, runningContainer } from "../plan/pods.ts";
import { reasons } from "../plan/reasons.ts";
import { deploymentFailing, podsFailing } from "../plan/workload-checks.ts";
import { broken, type Check, ok, unknown } from "./check.ts";
import { type Found, seen, type WorkloadFacts } from "./facts.ts";

/** The pods of the workload that stay and whose agent runs. */
export function runningPods({ pods }: Pick<WorkloadFacts, "pods">): ObservedPod[] {
  return (seen(pods) ?? []).filter((pod) => isStaying(pod) && runningContainer(pod) !== undefined);
}

/** Whether at least one agent runs; else in the words of Kubernetes why not. */
export function podsCheck(link: string, { pods, deployment }: WorkloadFacts): Check {
  if ("unknown" in pods) return unknown(link, pods.unknown);
  const all = (seen(pods) ?? []).filter(isStaying);
  const running = runningPods({ pods });
  const troubles = podsFailing(all) ?? deploymentFailing(seen(deployment));
  if (running.length > 0) {
    const also = troubles?.reason === "PodsFailing" ? `; but ${troubles.message}` : "";
    return ok(link, `${running.map(podText).join(", ")} ${running.length === 1 ? "runs" : "run"}${also}`);
  }
  if (troubles !== undefined) return broken(link, troubles.message, reasons[troubles.reason].todo);
  return all.length > 0
    ? broken(
        link,
        `pod ${all.map(({ metadata }) => metadata.name).join(", ")} does not run yet`,
        reasons.PodsStarting.todo,
      )
    : broken(link, noPods(deployment), "Read the events: kubectl describe the Deployment and its ReplicaSet.");
}

function noPods(deployment: Found<ObservedDeployment>): string {
  return "absent" in deployment ? "there is no Deployment and no pod" : "there is no pod";
}

function podText(pod: ObservedPod): string {
  const restarts = agentStatus(pod)?.restartCount ?? 0;
  const node = pod.spec?.nodeName === undefined ? "" : ` on ${pod.spec.nodeName}`;
  return `${pod.metadata.name}${node}${restarts === 0 ? "" : ` (restarted ${restarts} times)`}`;
}

/** Whether the nodes of the running pods are well. One good node is enough: the others hold standbys. */
export function nodesCheck(link: string, facts: WorkloadFacts): Check | undefined {
  const { nodes } = facts;
  const placed = runningPods(facts).filter((pod) => pod.spec?.nodeName !== undefined);
  if (placed.length === 0) return undefined;
  if (!("found" in nodes)) return unknown(link, "unknown" in nodes ? nodes.unknown : "the nodes cannot be found");
  const [bad, good] = partition(placed, nodes.found);
  if (good.length === 0) return broken(link, `${bad.join(", ")}: not ready`, reasons.NodeNotReady.todo);
  return ok(link, `${good.join(", ")} ready${bad.length === 0 ? "" : `; ${bad.join(", ")} not ready`}`);
}

function partition(pods: readonly ObservedPod[], nodes: readonly ObservedNode[]): [bad: string[], good: string[]] {
  const names = (some: readonly ObservedPod[]) => [...new Set(some.map((pod) => pod.spec?.nodeName ?? "?"))].sort();
  const isGood = (pod: ObservedPod) => isOnReadyNode(pod, nodes);
  return [names(pods.filter((pod) => !isGood(pod))), names(pods.filter(isGood))];
}
