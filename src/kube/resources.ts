import { apiGroup, apiVersion, groupVersion } from "../names.ts";

/** How one kind is addressed in URLs and in RBAC rules. */
export interface Resource {
  apiVersion: string;
  kind: string;
  /** API group, empty for the core group. */
  group: string;
  plural: string;
  namespaced: boolean;
}

const define = (group: string, version: string, kind: string, plural: string, namespaced = true): Resource => ({
  apiVersion: group === "" ? version : `${group}/${version}`,
  kind,
  group,
  plural,
  namespaced,
});

/** Every kind that the operator reads or writes. */
export const resources = {
  tunnel: define(apiGroup, apiVersion, "Tunnel", "tunnels"),
  proxy: define(apiGroup, apiVersion, "Proxy", "proxies"),
  target: define(apiGroup, apiVersion, "Target", "targets"),
  deployment: define("apps", "v1", "Deployment", "deployments"),
  replicaSet: define("apps", "v1", "ReplicaSet", "replicasets"),
  service: define("", "v1", "Service", "services"),
  endpointSlice: define("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
  secret: define("", "v1", "Secret", "secrets"),
  pod: define("", "v1", "Pod", "pods"),
  node: define("", "v1", "Node", "nodes", false),
  event: define("events.k8s.io", "v1", "Event", "events"),
  lease: define("coordination.k8s.io", "v1", "Lease", "leases"),
} as const satisfies Record<string, Resource>;

const byKind = new Map<string, Resource>(
  Object.values(resources).map((each) => [`${each.apiVersion}/${each.kind}`, each]),
);

/** The resource of an object. Throws for a kind that is not in the table: a plan asked for something the operator cannot do. */
export function resourceOf(object: { apiVersion?: string | undefined; kind?: string | undefined }): Resource {
  const resource = byKind.get(`${object.apiVersion}/${object.kind}`);
  if (resource === undefined) {
    throw new Error(`the operator does not handle ${object.apiVersion}/${object.kind}`);
  }
  return resource;
}

/** The three kinds of our own group, by the word that queue keys, metrics and logs use. */
const ownKinds = ["Tunnel", "Proxy", "Target"] as const;
export type OwnKind = (typeof ownKinds)[number];

export function ownKindOf(object: { apiVersion?: string | undefined; kind?: string | undefined }): OwnKind | undefined {
  return object.apiVersion === groupVersion ? ownKinds.find((kind) => kind === object.kind) : undefined;
}

/** The URL path of a collection or of one object in it. */
export function resourcePath(
  resource: Resource,
  place: { namespace?: string; name?: string; subresource?: string },
): string {
  const root = resource.group === "" ? "/api" : "/apis";
  const parts = [root, "/", resource.apiVersion];
  if (resource.namespaced && place.namespace !== undefined) {
    parts.push("/namespaces/", encodeURIComponent(place.namespace));
  }
  parts.push("/", resource.plural);
  if (place.name !== undefined) {
    parts.push("/", encodeURIComponent(place.name));
  }
  if (place.subresource !== undefined) {
    parts.push("/", place.subresource);
  }
  return parts.join("");
}
