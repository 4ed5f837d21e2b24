import { everyRole, namespaceName } from "./common.ts";
import { boolean, duration, file, integer, json, listOf, oneOf, text } from "./kinds.ts";
import { optional, type Role, withDefault } from "./table.ts";
import { version } from "./version.ts";

const settings = {
  namespace: optional(listOf(namespaceName), "Namespace to serve; may be repeated. All when absent."),
  workers: withDefault(integer(1, 64), "4", "Number of objects that are reconciled at once."),
  kubeconfig: optional(file, "Kubeconfig file; inside a cluster the pod's service account is used when absent.", {
    borrowedVariable: "KUBECONFIG",
  }),
  proxyHost: optional(
    text("HOST", "a name or an address without a port", /^[a-zA-Z0-9]([a-zA-Z0-9.:_-]*[a-zA-Z0-9])?$|^[0-9a-fA-F:]+$/),
    "Name or address under which targets reach the nodes' ports; needed for rendezvous Services of type NodePort.",
  ),
  agentImage: withDefault(
    text("IMAGE", "an image reference", /^\S+$/),
    `ghcr.io/exeteres/netaminity:${version}`,
    "Image of the proxy and target pods.",
  ),
  agentImagePullPolicy: withDefault(
    oneOf(["IfNotPresent", "Always", "Never"]),
    "IfNotPresent",
    "When the nodes pull that image.",
  ),
  agentImagePullSecrets: optional(
    listOf(text("NAME", "the name of a Secret", /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/)),
    "Secret, in the namespace of the pods, that lets the nodes pull that image; may be repeated.",
  ),
  drainTimeout: withDefault(
    duration("0s", "24h"),
    "30s",
    "Time that streams of a proxy or target pod get to finish when the pod is stopped.",
  ),
  agentLogLevel: optional(
    oneOf(["debug", "info", "warn", "error"]),
    "Least severe log lines of the proxy and target pods; the operator's own level when absent.",
  ),
  agentLogFormat: optional(
    oneOf(["pretty", "json"]),
    "Format of the log of the proxy and target pods; the operator's own when absent.",
  ),
  agentPodTemplate: optional(
    json,
    "How and where all proxy and target pods run, as a podTemplate without hostNetwork, healthPort and distributeByNodes; a field of an object's own podTemplate replaces the same field here.",
  ),
  agentNetworkPolicy: optional(
    json,
    "Who may consume, as a networkPolicy, from Proxies and Tunnels that have none of their own; everybody when absent.",
  ),
  maxRollouts: withDefault(
    text(
      "NUMBER|PERCENT",
      "a number from 1 to 9999, or a percentage from 1% to 100%",
      /^([1-9]\d{0,3}|([1-9]\d?|100)%)$/,
    ),
    "10%",
    "Proxies and Targets whose pods are replaced at the same time because of the operator's settings or version; at least 1.",
  ),
  leaderElect: withDefault(boolean, "true", "Let only one of several operators work at a time."),
  leaderElectNamespace: optional(namespaceName, "Namespace of the Lease by which operators elect one.", {
    borrowedVariable: "POD_NAMESPACE",
  }),
  ...everyRole,
};

export const operatorRole: Role<typeof settings> = {
  name: "operator",
  summary: "Reconcile the Tunnels, Proxies and Targets of a Kubernetes cluster.",
  settings,
};
