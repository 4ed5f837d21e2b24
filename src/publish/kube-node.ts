import type { KubernetesObject, V1Node } from "@kubernetes/client-node";
import { apiGroup } from "../names.ts";

/** Annotations by which a person says which member of the mesh a Node is. */
export const annotations = {
  /** Name or id of the Netmaker host. */
  meshHost: `${apiGroup}/mesh-host`,
  /** Public key of the Netsody node, 64 hexadecimal digits. */
  netsodyPk: `${apiGroup}/netsody-pk`,
} as const;

/** What a pass needs to know of a Node. */
export interface KubeNode {
  name: string;
  uid: string;
  annotations: Readonly<Record<string, string>>;
  /** In the order of `spec.podCIDRs`. */
  podCidrs: readonly string[];
  internalIps: readonly string[];
}

/** A Node as it is cached: without images, conditions and managed fields, which are most of it. */
export type KeptNode = KubernetesObject & {
  apiVersion: string;
  kind: string;
  metadata: { name: string; uid: string; resourceVersion: string };
  node: KubeNode;
};

export function keepNode(object: KubernetesObject): KeptNode {
  const { metadata, spec, status } = object as V1Node;
  const { name = "", uid = "", resourceVersion = "" } = metadata ?? {};
  const given = Object.entries(metadata?.annotations ?? {});
  const cidrs = spec?.podCIDRs ?? (spec?.podCIDR === undefined ? [] : [spec.podCIDR]);
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, uid, resourceVersion },
    node: {
      name,
      uid,
      annotations: Object.fromEntries(given.filter(([key]) => Object.values<string>(annotations).includes(key))),
      podCidrs: cidrs.filter((cidr) => cidr !== ""),
      internalIps: (status?.addresses ?? []).filter(({ type }) => type === "InternalIP").map(({ address }) => address),
    },
  };
}

/** A Node for which nothing can be published now, and why, as a sentence for its Event. */
export interface Pending {
  node: KubeNode;
  reason: "NoPodCidr" | "NoMeshHost" | "AmbiguousMeshHost";
  message: string;
}
