import { everyRole } from "./common.ts";
import { boolean, cidr, file, listenEndpoint, listOf, text } from "./kinds.ts";
import { optional, type Role, withDefault } from "./table.ts";

const settings = {
  nodeName: optional(
    text("NAME", "the name of a Node", /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/),
    "Name of the Node on which this runs; needed unless cleanup is given.",
    { borrowedVariable: "NODE_NAME" },
  ),
  podCidr: optional(
    listOf(cidr),
    "Range of pod addresses, for clusters whose Nodes do not name theirs; may be repeated. Those of the Nodes when absent.",
  ),
  serviceCidr: optional(
    listOf(cidr),
    "Range of cluster IPs, of which no Service may take one as its own address; may be repeated.",
  ),
  masquerade: withDefault(
    boolean,
    "false",
    "Let what pods send to pods over the interfaces of a mesh leave with the node's address.",
  ),
  meshInterface: optional(
    listOf(text("INTERFACE", "the name of an interface, at most 15 characters", /^[^\s/]{1,15}$/)),
    "With masquerade: interface of the mesh, which may come and go; may be repeated.",
  ),
  masqueradeAll: withDefault(
    boolean,
    "false",
    "With masquerade: also what pods send to others than pods, so that nodes do not see the pods' addresses either.",
  ),
  compatCozystack: withDefault(
    boolean,
    "false",
    "Serve the annotations and the label of cozy-proxy too, which must not run beside this.",
  ),
  dryRun: withDefault(
    boolean,
    "false",
    "Print the tables that this node should have, as `nft -j -f` reads them, and what is wrong with Services, and end.",
    { sources: ["flag"] },
  ),
  cleanup: withDefault(boolean, "false", "Remove the tables of this node and end.", { sources: ["flag"] }),
  stay: withDefault(
    boolean,
    "false",
    "With cleanup: go on answering the health server until a signal, as a DaemonSet's pods have to.",
    { sources: ["flag"] },
  ),
  awaitDaemonset: optional(
    text("NAMESPACE/NAME", "NAMESPACE/NAME of a DaemonSet", /^[a-z0-9-]{1,63}\/[a-z0-9][a-z0-9.-]{0,252}$/),
    "With cleanup: remove nothing, but wait until all pods of this DaemonSet, which clean up, are ready; two minutes at most.",
    { sources: ["flag"] },
  ),
  kubeconfig: optional(file, "Kubeconfig file; inside a cluster the pod's service account is used when absent.", {
    borrowedVariable: "KUBECONFIG",
  }),
  ...everyRole,
  healthListen: withDefault(
    listenEndpoint,
    "[::]:7836",
    "Address of the health server: /healthz, /readyz and /metrics. The role runs on the node's network, so the port must be free on every node.",
  ),
};

export const nodeRole: Role<typeof settings> = {
  name: "node",
  summary: "Give whole addresses of LoadBalancer Services to pods, and masquerade pods into a mesh, on one node.",
  settings,
  check: ({ nodeName, masquerade, meshInterface, masqueradeAll, dryRun, cleanup, stay, awaitDaemonset }) => {
    if (nodeName === undefined && !cleanup) {
      return "node-name is not given; accepted: the name of the Node on which this runs (in a pod: spec.nodeName as the variable NODE_NAME)";
    }
    if (masquerade && meshInterface === undefined) {
      return "masquerade is given without mesh-interface; accepted: --masquerade together with --mesh-interface INTERFACE";
    }
    if (!masquerade && (meshInterface !== undefined || masqueradeAll)) {
      return `${masqueradeAll ? "masquerade-all" : "mesh-interface"} is given without masquerade; accepted: --masquerade together with it`;
    }
    if (cleanup && dryRun) {
      return "both cleanup and dry-run are given; accepted: at most one of the two";
    }
    if (!cleanup && (stay || awaitDaemonset !== undefined)) {
      return `${stay ? "stay" : "await-daemonset"} is given without cleanup; accepted: --cleanup together with it`;
    }
    return stay && awaitDaemonset !== undefined
      ? "both stay and await-daemonset are given; accepted: at most one of the two"
      : undefined;
  },
};
