import type { ProxyResource } from "../api/proxy.ts";
import type { TargetResource } from "../api/target.ts";
import type { TunnelResource } from "../api/tunnel.ts";
import { pairName } from "../desired/names.ts";
import { pairMetadata } from "../desired/pair.ts";
import { groupVersion, labels } from "../names.ts";
import type { ObservedDeployment, ObservedObject } from "./observed.ts";
import { controllerOf, isOrphanOf, ownedBy } from "./ownership.ts";

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

/**
 * Whether it is a Proxy or Target that a Tunnel of this name left behind, of a pair that this one does not have. By the number alone: one that is to be taken back
 * may have to wait, as a Target does for the endpoint of its Proxy.
 */
export function isExcessPairOf(tunnel: TunnelResource, object: ObservedObject): boolean {
  const index = Number(object.metadata.labels?.[labels.index]);
  const made = pairMetadata(tunnel, index);
  return index >= tunnel.spec.replicas && object.metadata.name === made.name && isOrphanOf(object, { metadata: made });
}
