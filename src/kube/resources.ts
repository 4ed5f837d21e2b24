/** How one kind is addressed in URLs and in RBAC rules. */
export interface Resource {
  apiVersion: string;
  kind: string;
  /** API group, empty for the core group. */
  group: string;
  plural: string;
  namespaced: boolean;
}

const define = (group: string, kind: string, plural: string, namespaced = true): Resource => ({
  apiVersion: group === "" ? "v1" : `${group}/v1`,
  kind,
  group,
  plural,
  namespaced,
});

/** Kinds of Kubernetes itself that are read or written here. */
export const builtIn = {
  deployment: define("apps", "Deployment", "deployments"),
  replicaSet: define("apps", "ReplicaSet", "replicasets"),
  service: define("", "Service", "services"),
  endpointSlice: define("discovery.k8s.io", "EndpointSlice", "endpointslices"),
  networkPolicy: define("networking.k8s.io", "NetworkPolicy", "networkpolicies"),
  secret: define("", "Secret", "secrets"),
  pod: define("", "Pod", "pods"),
  node: define("", "Node", "nodes", false),
  event: define("events.k8s.io", "Event", "events"),
  lease: define("coordination.k8s.io", "Lease", "leases"),
} as const satisfies Record<string, Resource>;

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
