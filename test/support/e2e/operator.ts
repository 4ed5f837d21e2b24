/** Which operator pod leads. */
import { type Cluster, waitFor } from "../cluster/index.ts";
import { nodeOf, podName } from "./kinds.ts";
import { operatorNamespace } from "./site.ts";

interface Lease {
  readonly spec?: { readonly holderIdentity?: string };
}

async function leader(cluster: Cluster): Promise<string> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${operatorNamespace}/leases/netaminity-operator`;
  return (await cluster.api.request<Lease>(path)).spec?.holderIdentity ?? "";
}

/** Makes sure that the loss of a node does not take the leading operator pod along. */
export async function moveLeaderFrom(cluster: Cluster, node: string): Promise<void> {
  await waitFor(`an operator that leads elsewhere than on ${node}`, { deadline: 60_000, interval: 250 }, async () => {
    const identity = await leader(cluster);
    const pods = await cluster.pods.list(operatorNamespace);
    const leading = pods.find((pod) => identity.startsWith(podName(pod)) && podName(pod) !== "");
    if (leading === undefined || leading.metadata?.deletionTimestamp !== undefined) return false;
    if (nodeOf(leading) !== node) return true;
    const path = `/api/v1/namespaces/${operatorNamespace}/pods/${podName(leading)}`;
    await cluster.api.request(path, { method: "DELETE" });
    return false;
  });
}
