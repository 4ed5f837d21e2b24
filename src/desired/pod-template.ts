import type {
  V1Affinity,
  V1PodSecurityContext,
  V1PodSpec,
  V1SecurityContext,
  V1Toleration,
} from "@kubernetes/client-node";
import type { PodTemplate } from "../api/pod-template.ts";
import { labels } from "../names.ts";

/** A side's own template over the shared one of its Tunnel: a field that the side has replaces the whole shared field. */
export function overridden(shared: PodTemplate | undefined, own: PodTemplate | undefined): PodTemplate | undefined {
  return shared === undefined && own === undefined ? undefined : { ...shared, ...own };
}

/** The scheduling part of a pod. `selector` picks the pods of the same workload. */
export function scheduling(template: PodTemplate, selector: Record<string, string>): Partial<V1PodSpec> {
  const {
    nodeSelector,
    tolerations = [],
    topologySpreadConstraints = [],
    priorityClassName,
    runtimeClassName,
  } = template;
  const affinity = withDistribution(template, selector);
  return {
    ...(nodeSelector !== undefined && { nodeSelector }),
    tolerations: [...tolerations, ...lostNodeTolerations(tolerations)],
    ...(affinity !== undefined && { affinity }),
    ...(topologySpreadConstraints.length > 0 && {
      topologySpreadConstraints: topologySpreadConstraints.map((constraint) => ({
        ...constraint,
        labelSelector: constraint.labelSelector ?? { matchLabels: selector },
      })),
    }),
    ...(priorityClassName ? { priorityClassName } : {}),
    ...(runtimeClassName ? { runtimeClassName } : {}),
  };
}

/** Seconds that a pod stays on a node that is not heard of, where Kubernetes' own default is five minutes: another node may have room for it. */
const lostNodeSeconds = 15;

/** What the user says about such nodes, or about all taints, goes before. */
function lostNodeTolerations(given: NonNullable<PodTemplate["tolerations"]>): V1Toleration[] {
  const keys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
  return keys
    .filter((key) => !given.some((each) => (each.key || key) === key && (each.effect || "NoExecute") === "NoExecute"))
    .map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: lostNodeSeconds }));
}

/** The network part of a pod: with the node's network, cluster names must still resolve. */
export function network(template: PodTemplate): Partial<V1PodSpec> {
  return template.hostNetwork
    ? { hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" }
    : { dnsPolicy: "ClusterFirst" };
}

/**
 * Resources of the agent container. Without limits of our own: a CPU limit would throttle a busy tunnel, and a memory limit
 * would kill it with all its connections; who wants them knows the numbers.
 */
export function resources({ resources: { requests, limits } = defaultResources }: PodTemplate) {
  return {
    ...(requests !== undefined && { requests: texts(requests) }),
    ...(limits !== undefined && { limits: texts(limits) }),
  };
}

const defaultResources: NonNullable<PodTemplate["resources"]> = { requests: { cpu: "10m", memory: "32Mi" } };

/**
 * Pod-level security that the Pod Security level "restricted" accepts, with the user's fields over it. The user is the image's (65532), or the
 * platform's, where that gives each namespace users of its own.
 */
export function podSecurity({ securityContext }: PodTemplate): V1PodSecurityContext {
  return {
    runAsNonRoot: true,
    seccompProfile: { type: "RuntimeDefault" },
    ...withoutNull(securityContext),
  };
}

/** The same for the container. */
export function containerSecurity({ containerSecurityContext }: PodTemplate): V1SecurityContext {
  return {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
    ...withoutNull(containerSecurityContext),
  };
}

function withDistribution(template: PodTemplate, selector: Record<string, string>): V1Affinity | undefined {
  const given = template.affinity;
  if (template.distributeByNodes === false) return given;
  const preference = {
    weight: 100,
    podAffinityTerm: { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: selector } },
  };
  const preferred = given?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return {
    ...given,
    podAntiAffinity: {
      ...given?.podAntiAffinity,
      preferredDuringSchedulingIgnoredDuringExecution: [...preferred, preference],
    },
  };
}

/** A user who is written as null is left to the platform, as an absent one. */
function withoutNull<T extends object>(context: T | undefined): { [K in keyof T]: Exclude<T[K], null> } | undefined {
  if (context === undefined) return undefined;
  const kept = Object.entries(context).filter(([, value]) => value !== null);
  return Object.fromEntries(kept) as { [K in keyof T]: Exclude<T[K], null> };
}

function texts(quantities: Record<string, string | number>): Record<string, string> {
  return Object.fromEntries(Object.entries(quantities).map(([name, value]) => [name, String(value)]));
}

/** Selector labels of one workload: they may never change, so nothing that a user can edit is in them. */
export function selectorOf(component: "proxy" | "target", name: string): Record<string, string> {
  return { [labels.component]: component, [component === "proxy" ? labels.proxy : labels.target]: name };
}

/** As `kubectl get -l` and autoscalers take it. */
export function selectorText(selector: Record<string, string>): string {
  return Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}
