import type { Resource } from "../../src/kube/resources.ts";
import { resources } from "../../src/operator/resources.ts";
import type { Anything } from "./objects.ts";

/** One change of a spec: the merge patch, the child in which it must show, and what of it. */
export interface SpecChange {
  change: object;
  child: [Resource, string];
  shows: (child: Anything) => unknown;
  as: unknown;
}

export const podOf = (deployment: Anything) => deployment.spec.template.spec;
const containerOf = (deployment: Anything) => podOf(deployment).containers[0];
export const environmentOf = (name: string) => (deployment: Anything) =>
  containerOf(deployment).env.find((variable: { name: string }) => variable.name === name)?.value;

/** The fields of a podTemplate; `template` puts one where the kind has it. */
export function podTemplateChanges(
  template: (fields: object) => object,
  deployment: string,
): Record<string, SpecChange> {
  const child: [Resource, string] = [resources.deployment, deployment];
  const toleration = { key: "dedicated", operator: "Equal", value: "tunnel", effect: "NoSchedule" };
  const lostNode = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].map((key) => ({
    ...{ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 15 },
  }));
  const required = {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }],
      },
    },
  };
  const row = (fields: object, shows: SpecChange["shows"], as: unknown): SpecChange => ({
    change: template(fields),
    child,
    shows,
    as,
  });
  return {
    nodeSelector: row({ nodeSelector: { zone: "a" } }, (d) => podOf(d).nodeSelector, { zone: "a" }),
    "nodeSelector removed": row({ nodeSelector: null }, (d) => podOf(d).nodeSelector, undefined),
    tolerations: row({ tolerations: [toleration] }, (d) => podOf(d).tolerations, [toleration, ...lostNode]),
    "tolerations emptied": row({ tolerations: [] }, (d) => podOf(d).tolerations, lostNode),
    affinity: row({ affinity: required }, (d) => podOf(d).affinity.nodeAffinity, required.nodeAffinity),
    "affinity with distribution": row(
      {},
      (d) => podOf(d).affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.length,
      1,
    ),
    "distributeByNodes off": row({ distributeByNodes: false }, (d) => podOf(d).affinity, required),
    topologySpreadConstraints: row(
      { topologySpreadConstraints: [{ maxSkew: 2, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" }] },
      (d) => podOf(d).topologySpreadConstraints.map(({ maxSkew, topologyKey }: Anything) => [maxSkew, topologyKey]),
      [[2, "zone"]],
    ),
    priorityClassName: row(
      { priorityClassName: "system-node-critical" },
      (d) => podOf(d).priorityClassName,
      "system-node-critical",
    ),
    runtimeClassName: row({ runtimeClassName: "sandboxed" }, (d) => podOf(d).runtimeClassName, "sandboxed"),
    resources: row(
      { resources: { requests: { cpu: "0.25", memory: "64Mi" }, limits: { memory: "128Mi" } } },
      (d) => containerOf(d).resources,
      { requests: { cpu: "250m", memory: "64Mi" }, limits: { memory: "128Mi" } },
    ),
    securityContext: row({ securityContext: { runAsUser: 1234 } }, (d) => podOf(d).securityContext.runAsUser, 1234),
    "securityContext, user null": row(
      { securityContext: { runAsUser: null } },
      (d) => [podOf(d).securityContext.runAsUser, podOf(d).securityContext.runAsNonRoot],
      [undefined, true],
    ),
    containerSecurityContext: row(
      { containerSecurityContext: { readOnlyRootFilesystem: false } },
      (d) => containerOf(d).securityContext.readOnlyRootFilesystem,
      false,
    ),
    serviceAccountName: row({ serviceAccountName: "runner" }, (d) => podOf(d).serviceAccountName, "runner"),
    imagePullSecrets: row({ imagePullSecrets: [{ name: "registry" }] }, (d) => podOf(d).imagePullSecrets, [
      { name: "registry" },
    ]),
    labels: row({ labels: { team: "red" } }, (d) => d.spec.template.metadata.labels.team, "red"),
    "labels removed": row({ labels: { team: null } }, (d) => d.spec.template.metadata.labels.team, undefined),
    annotations: row({ annotations: { note: "x" } }, (d) => d.spec.template.metadata.annotations.note, "x"),
    healthPort: row({ healthPort: 9090 }, environmentOf("NETAMINITY_HEALTH_LISTEN"), "[::]:9090"),
    hostNetwork: row({ hostNetwork: true }, (d) => [podOf(d).hostNetwork, podOf(d).dnsPolicy], [
      true,
      "ClusterFirstWithHostNet",
    ]),
    "hostNetwork off": row(
      { hostNetwork: false },
      (d) => [podOf(d).hostNetwork, podOf(d).dnsPolicy, containerOf(d).ports[0].hostPort],
      [undefined, "ClusterFirst", undefined],
    ),
  };
}
