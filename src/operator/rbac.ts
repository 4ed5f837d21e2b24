import type { Verb } from "../kube/kube.ts";
import type { Resource } from "../kube/resources.ts";
import { resources } from "./resources.ts";

/** One rule of a Role or ClusterRole. */
export interface PolicyRule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: Verb[];
}

/** Name of the Lease by which replicas elect one, in the operator's own namespace. */
export const leaseName = "netaminity-operator";

/** Name of the Lease by which releases that would serve the same namespace find each other. */
export const guardName = "netaminity-guard";
/**
 * The same for those that would serve all namespaces, and where it is: in a namespace that every cluster has and that nobody can delete. Not kube-system, where some
 * providers let nobody make a Role (https://github.com/cert-manager/cert-manager/issues/3713).
 */
export const clusterGuard = { name: "netaminity-guard-all", namespace: "default" };

const rule = (resource: Resource, verbs: Verb[], subresource?: string): PolicyRule => ({
  apiGroups: [resource.group],
  resources: [subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`],
  verbs,
});

/** get: whose object has the name that a child needs; create: the first apply; patch: every other one. */
const childVerbs: Verb[] = ["get", "list", "watch", "create", "patch", "delete"];

/** All that the operator may do; `npm run generate` writes it into the chart. */
export const rbac: Record<
  "cluster" | "namespaced" | "platforms" | "guard" | "clusterGuard" | "leaderElection",
  PolicyRule[]
> = {
  /**
   * What is about no namespace and so needs a ClusterRole. A namespaced installation does without: it learns that a node is lost when
   * Kubernetes marks its pods.
   */
  cluster: [
    rule(resources.node, ["list", "watch"]),
    // Which namespaces another release serves.
    { ...rule(resources.lease, ["list", "watch"]), resourceNames: [guardName] },
  ],
  /** In every namespace that is served: part of the ClusterRole, or a Role in each. */
  namespaced: [
    rule(resources.tunnel, ["list", "watch"]),
    rule(resources.tunnel, ["patch"], "status"),
    rule(resources.proxy, childVerbs),
    rule(resources.proxy, ["patch"], "status"),
    rule(resources.target, childVerbs),
    rule(resources.target, ["patch"], "status"),
    // Never deleted by the operator: their names do not change, and the garbage collector takes them with their owner.
    rule(resources.deployment, ["get", "list", "watch", "create", "patch"]),
    rule(resources.replicaSet, ["list", "watch"]),
    rule(resources.service, childVerbs),
    rule(resources.endpointSlice, childVerbs),
    rule(resources.networkPolicy, childVerbs),
    rule(resources.pod, ["list", "watch", "delete"]),
    rule(resources.secret, ["get", "list", "watch", "create", "patch"]),
    rule(resources.event, ["create", "patch"]),
  ],
  /**
   * In every namespace that is served, for what only some platforms ask: OpenShift lets nobody without it write an address of the cluster's own network into a
   * slice (its admission plugin RestrictedEndpointsAdmission).
   */
  platforms: [rule(resources.endpointSlice, ["create"], "restricted")],
  /** In every namespace of `watchNamespaces`. */
  guard: [
    rule(resources.lease, ["create"]),
    { ...rule(resources.lease, ["get", "update"]), resourceNames: [guardName] },
  ],
  /** In the namespace of `clusterGuard` when all are served. */
  clusterGuard: [
    rule(resources.lease, ["create"]),
    { ...rule(resources.lease, ["get", "update"]), resourceNames: [clusterGuard.name] },
  ],
  /** In the operator's own namespace. The name limits all but `create`, which RBAC cannot limit by name. */
  leaderElection: [
    rule(resources.lease, ["create"]),
    { ...rule(resources.lease, ["get", "update"]), resourceNames: [leaseName] },
  ],
};
