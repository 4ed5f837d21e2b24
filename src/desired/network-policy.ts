import type { NetworkPolicy } from "../api/network-policy.ts";
import type { ProxyResource } from "../api/proxy.ts";
import type { DesiredObject } from "./desired.ts";
import { proxyLabels } from "./labels.ts";
import { childMetadata } from "./metadata.ts";
import { networkPolicyName } from "./names.ts";
import { selectorOf } from "./pod-template.ts";

/**
 * Who reaches the proxy pods of a Proxy; `shared` stands where the object says nothing. None without either, and none for pods on the nodes'
 * network, which no policy applies to.
 *
 * The two ports that everybody needs are open to all. Targets come from outside of the cluster, through nodes and load balancers that put addresses of their
 * own in the place of theirs, and know the secret; the health port is asked by the kubelet, the operator, Prometheus and, for `doctor`, the API server, which no
 * selector can name. They go by name, so that pods whose health port is being changed are open at both. What remains in such a pod are the consumers' ports, so
 * those who may consume need no list of them.
 */
export function proxyNetworkPolicy(
  proxy: ProxyResource,
  shared: NetworkPolicy | undefined,
): (DesiredObject & { spec: object }) | undefined {
  const { networkPolicy = shared, podTemplate } = proxy.spec;
  if (networkPolicy === undefined || podTemplate?.hostNetwork === true) return undefined;
  const { name } = proxy.metadata;
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: childMetadata(proxy, networkPolicyName(name), proxyLabels(proxy)),
    spec: {
      podSelector: { matchLabels: selectorOf("proxy", name) },
      policyTypes: ["Ingress"],
      ingress: [
        {
          ports: [
            { protocol: "TCP", port: "rendezvous" },
            { protocol: "TCP", port: "health" },
          ],
        },
        { from: networkPolicy.from },
      ],
    },
  };
}
