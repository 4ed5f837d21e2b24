/** Which operator pod leads, and where. */
import type { V1Pod } from "@kubernetes/client-node";
import { type Cluster, waitFor } from "../cluster/index.ts";
import { nodeOf, podName } from "./kinds.ts";
import { operatorNamespace } from "./site.ts";

interface Lease {
  readonly spec?: { readonly holderIdentity?: string };
}

/** Makes the operator pod of this node the leader and has the other one on another node, ready to take over. */
export async function leadFrom(cluster: Cluster, node: string): Promise<void> {
  await waitFor(`an operator that leads from ${node}`, { deadline: 90_000, interval: 250 }, async () => {
    const pods = await cluster.pods.list(operatorNamespace);
    if (pods.length !== 2 || !pods.every(isReady)) return false;
    const identity = await leader(cluster);
    const leading = pods.find((pod) => identity.startsWith(podName(pod)));
    const waiting = pods.find((pod) => pod !== leading);
    if (leading === undefined || waiting === undefined) return false;
    if (nodeOf(leading) === node && nodeOf(waiting) !== node) return true;
    // What is deleted comes back on the node that has none. The leader's successor is the one that waits.
    await deletePod(cluster, nodeOf(leading) === node || nodeOf(leading) === nodeOf(waiting) ? waiting : leading);
    return false;
  });
}

async function leader(cluster: Cluster): Promise<string> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${operatorNamespace}/leases/netaminity-operator`;
  return (await cluster.api.request<Lease>(path)).spec?.holderIdentity ?? "";
}

function isReady({ metadata, status }: V1Pod): boolean {
  return metadata?.deletionTimestamp === undefined && status?.containerStatuses?.[0]?.ready === true;
}

async function deletePod(cluster: Cluster, pod: V1Pod): Promise<void> {
  await cluster.api.request(`/api/v1/namespaces/${operatorNamespace}/pods/${podName(pod)}`, { method: "DELETE" });
}
