import type { PolicyRule } from "../../src/operator/rbac.ts";

export interface PublishRights {
  /** About what is in no namespace. */
  cluster: PolicyRule[];
  /** In the namespace `default`, where Events about Nodes are. */
  nodeEvents: PolicyRule[];
  /** In its own namespace. */
  own: PolicyRule[];
}

/** All that the role publish may do: the chart grants this, and the tests on a real API server run with it. */
export function publishRights({
  lease,
  readsClusterName = false,
  output,
}: {
  lease: string;
  readsClusterName?: boolean;
  output?: { plural: "secrets" | "configmaps"; name: string };
}): PublishRights {
  const events: PolicyRule = { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] };
  const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  const kubeSystem: PolicyRule = {
    apiGroups: [""],
    resources: ["namespaces"],
    resourceNames: ["kube-system"],
    verbs: ["get"],
  };
  return {
    cluster: [
      { apiGroups: [""], resources: ["nodes"], verbs: ["list", "watch"] },
      ...(readsClusterName ? [kubeSystem] : []),
    ],
    nodeEvents: [events],
    own: [
      events,
      { ...leases, verbs: ["create"] },
      { ...leases, resourceNames: [lease], verbs: ["get", "update"] },
      ...(output === undefined
        ? []
        : [
            {
              apiGroups: [""],
              resources: [output.plural],
              resourceNames: [output.name],
              verbs: ["list", "watch", "patch"] as PolicyRule["verbs"],
            },
          ]),
    ],
  };
}
