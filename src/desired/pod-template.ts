import type { V1Affinity, V1PodSecurityContext, V1PodSpec, V1SecurityContext } from "@kubernetes/client-node";
import type { PodTemplate } from "../api/pod-template.ts";
import { labels } from "../names.ts";

/** A side's own template over the shared one of its Tunnel: a field that the side has replaces the whole shared field. */
export function overridden(shared: PodTemplate | undefined, own: PodTemplate | undefined): PodTemplate | undefined {
  return shared === undefined && own === undefined ? undefined : { ...shared, ...own };
}

/** The scheduling part of a pod. `selector` picks the pods of the same workload. */
export function scheduling(template: PodTemplate, selector: Record<string, string>): Partial<V1PodSpec> {
  const { nodeSelector, tolerations, topologySpreadConstraints = [], priorityClassName, runtimeClassName } = template;
  const affinity = withDistribution(template, selector);
  return {
    ...(nodeSelector !== undefined && { nodeSelector }),
    ...(tolerations !== undefined && tolerations.length > 0 && { tolerations: tolerations }),
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
 * Pod-level security that the Pod Security level "restricted" accepts, with the user's fields over it. Nothing says who the process is: the image
 * has a numeric user, which is enough for runAsNonRoot, and platforms that choose one themselves (OpenShift) refuse a pod that asks for another.
 */
export function podSecurity({ securityContext }: PodTemplate): V1PodSecurityContext {
  return {
    runAsNonRoot: true,
    seccompProfile: { type: "RuntimeDefault" },
    ...withoutNulls(securityContext),
  };
}

/** Null leaves an id to the platform or the image, as its absence does. The API server does not store it, so it must not be compared with. */
function withoutNulls(context: PodTemplate["securityContext"] | PodTemplate["containerSecurityContext"]) {
  return Object.fromEntries(Object.entries(context ?? {}).filter(([, value]) => value !== null));
}

/** The same for the container. */
export function containerSecurity({ containerSecurityContext }: PodTemplate): V1SecurityContext {
  return {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
    ...withoutNulls(containerSecurityContext),
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

function texts(quantities: Record<string, string | number>): Record<string, string> {
  return Object.fromEntries(Object.entries(quantities).map(([name, value]) => [name, String(value)]));
}

/** Labels in the text form of a selector, as the scale subresource gives it to autoscalers. */
export function selectorText(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join(",");
}

/** Selector labels of one workload: they may never change, so nothing that a user can edit is in them. */
export function selectorOf(component: "proxy" | "target", name: string): Record<string, string> {
  return { [labels.component]: component, [component === "proxy" ? labels.proxy : labels.target]: name };
}
