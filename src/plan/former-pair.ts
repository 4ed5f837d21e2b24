import type { ProxyResource } from "../api/proxy.ts";
import type { TargetResource } from "../api/target.ts";
import { pairName } from "../desired/names.ts";
import { groupVersion, labels } from "../names.ts";
import type { ObservedDeployment } from "./observed.ts";
import { controllerOf, ownedBy } from "./ownership.ts";

/**
 * A Proxy or Target whose Tunnel was deleted without it keeps the labels by which the Tunnel's consumers find its pods: the object is planned as if the Tunnel were there
 * still. That a user's label says so is not enough; its Deployment must have been made so.
 */
export function asFormerPair<T extends ProxyResource | TargetResource>(
  object: T,
  deployments: readonly ObservedDeployment[],
): T {
  if (controllerOf(object) !== undefined) return object;
  const { name, labels: own = {} } = object.metadata;
  const tunnel = own[labels.tunnel];
  if (tunnel === undefined || name !== pairName(tunnel, Number(own[labels.index]))) return object;
  const isMadeSo = ownedBy(object, deployments).some(
    ({ spec }) => spec?.template?.metadata?.labels?.[labels.tunnel] === tunnel,
  );
  if (!isMadeSo) return object;
  const former = { apiVersion: groupVersion, kind: "Tunnel", name: tunnel, uid: "", controller: true };
  return { ...object, metadata: { ...object.metadata, ownerReferences: [former] } };
}
