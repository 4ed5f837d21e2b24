import type { ProxyResource } from "../api/proxy.ts";
import type { ObjectMeta } from "../api/resource.ts";
import type { TargetResource } from "../api/target.ts";
import type { TunnelResource } from "../api/tunnel.ts";
import type { KubeObject } from "../kube/kube.ts";
import type { Resource } from "../kube/resources.ts";
import { previousSecretKey, secretKey } from "../names.ts";
import type {
  ObservedDeployment,
  ObservedEndpointSlice,
  ObservedNode,
  ObservedObject,
  ObservedPod,
  ObservedReplicaSet,
  ObservedSecret,
  ObservedService,
} from "../plan/observed.ts";

// What of each object stays in memory. With thousands of objects the rest (managedFields above all) would be most of it.

/** An object as it is cached: always with its type, uid and resource version. */
export type Cached<T> = Omit<T, "metadata"> & {
  apiVersion: string;
  kind: string;
  metadata: KubeObject["metadata"] & ObjectMeta;
};

export type CachedTunnel = TunnelResource & Cached<TunnelResource>;
export type CachedProxy = ProxyResource & Cached<ProxyResource>;
export type CachedTarget = TargetResource & Cached<TargetResource>;
export type CachedDeployment = Cached<ObservedDeployment>;
export type CachedService = Cached<ObservedService>;
export type CachedEndpointSlice = Cached<ObservedEndpointSlice>;
export type CachedNetworkPolicy = Cached<ObservedObject>;
export type CachedSecret = Cached<ObservedSecret>;
export type CachedPod = Cached<ObservedPod>;
export type CachedNode = Cached<ObservedNode>;
export type CachedReplicaSet = Cached<ObservedReplicaSet>;

type Fields = Record<string, unknown>;

/** Annotations that repeat the whole object. */
const bulkyAnnotations = ["kubectl.kubernetes.io/last-applied-configuration"];

/**
 * Makes the function that keeps only the named fields of an object (nested ones as `status.phase`), its trimmed metadata, and its type, which
 * lists leave out.
 */
export function keeperOf<T>(resource: Resource, paths: readonly string[]): (object: KubeObject) => T {
  const split = paths.map((path) => path.split("."));
  return (object) => {
    const kept: Fields = {
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: keepMetadata(object.metadata as unknown as Fields),
    };
    for (const path of split) {
      copyPath(object as unknown as Fields, kept, path);
    }
    return kept as T;
  };
}

const keptMetadata = [
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "labels",
  "annotations",
  "ownerReferences",
];

function keepMetadata(metadata: Fields): Fields {
  const kept: Fields = {};
  for (const field of keptMetadata) {
    if (metadata[field] !== undefined) {
      kept[field] = metadata[field];
    }
  }
  const annotations = metadata.annotations as Record<string, string> | undefined;
  if (annotations !== undefined && bulkyAnnotations.some((name) => name in annotations)) {
    kept.annotations = Object.fromEntries(
      Object.entries(annotations).filter(([name]) => !bulkyAnnotations.includes(name)),
    );
  }
  return kept;
}

function copyPath(from: Fields, to: Fields, [head, ...rest]: readonly string[]): void {
  if (head === undefined || from[head] === undefined || from[head] === null) {
    return;
  }
  if (rest.length === 0) {
    to[head] = from[head];
    return;
  }
  const inner = (to[head] ?? {}) as Fields;
  to[head] = inner;
  copyPath(from[head] as Fields, inner, rest);
}

/** What planners and the comparison with the wanted state read. */
export const keptPaths = {
  own: ["spec", "status"],
  deployment: [
    "spec",
    "status.observedGeneration",
    "status.replicas",
    "status.readyReplicas",
    "status.updatedReplicas",
    "status.conditions",
  ],
  service: ["spec", "status.loadBalancer"],
  endpointSlice: ["addressType", "endpoints", "ports"],
  networkPolicy: ["spec"],
  secret: ["type", `data.${secretKey}`, `data.${previousSecretKey}`],
  pod: [
    "spec.nodeName",
    "status.phase",
    "status.reason",
    "status.message",
    "status.podIP",
    "status.podIPs",
    "status.conditions",
    "status.containerStatuses",
  ],
  node: ["status.conditions"],
  replicaSet: [],
} as const satisfies Record<string, readonly string[]>;
