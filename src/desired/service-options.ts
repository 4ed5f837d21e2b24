import type { V1ServiceSpec } from "@kubernetes/client-node";
import type { ConsumerServiceOptions } from "../api/services.ts";

/**
 * Seconds that Kubernetes would put there by itself. They have to be ours: what it puts there stays when ClientIP is taken back, and then it
 * refuses the Service (`sessionAffinityConfig` without ClientIP).
 */
const affinitySeconds = 10_800;

/**
 * What users say about the consumer Service, as it stands in the Service. What they do not say is left out, so that an apply gives it back to the API
 * server, which puts its default there.
 */
export function serviceOptions(options: ConsumerServiceOptions): V1ServiceSpec {
  const { type = "ClusterIP", ipFamilyPolicy = "PreferDualStack", loadBalancerClass, sessionAffinity } = options;
  const { trafficDistribution, internalTrafficPolicy, externalTrafficPolicy } = options;
  return {
    type,
    ipFamilyPolicy,
    ...(loadBalancerClass ? { loadBalancerClass } : {}),
    ...(sessionAffinity !== undefined && { sessionAffinity }),
    ...(sessionAffinity === "ClientIP" && { sessionAffinityConfig: { clientIP: { timeoutSeconds: affinitySeconds } } }),
    ...(trafficDistribution !== undefined && { trafficDistribution }),
    ...(internalTrafficPolicy !== undefined && { internalTrafficPolicy }),
    ...(externalTrafficPolicy !== undefined && { externalTrafficPolicy }),
  };
}
