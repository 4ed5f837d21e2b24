import { z } from "zod";
import { checked, type Rule } from "./checked.ts";
import { labelSelector } from "./scheduling.ts";

const range = () => z.string().min(1).max(64);

const ipBlock = checked(
  z
    .strictObject({
      cidr: range().describe("Range of addresses, for example 192.0.2.0/24 or 2001:db8::/32."),
      except: z.array(range()).max(32).exactOptional().describe("Ranges within it that are left out."),
    })
    .describe(
      "Addresses outside of the cluster's pods. What comes through a Service of type NodePort or LoadBalancer has the consumer's own address only with externalTrafficPolicy Local.",
    ),
  [
    {
      rule: "isCIDR(self.cidr)",
      message: "cidr must be a range of addresses, for example 192.0.2.0/24 or 2001:db8::/32",
    },
    {
      // Not containsCIDR: in Kubernetes 1.31 it knows a range only by the first address.
      rule: "!isCIDR(self.cidr) || !has(self.except) || self.except.all(each, isCIDR(each) && cidr(self.cidr).containsIP(cidr(each).ip()) && cidr(each).prefixLength() > cidr(self.cidr).prefixLength())",
      message: "except must hold ranges of addresses that lie within cidr",
    },
  ],
);

/** networking.k8s.io/v1 NetworkPolicyPeer. */
const peer = checked(
  z.strictObject({
    podSelector: labelSelector("Pods by label; an empty one means all.").exactOptional(),
    namespaceSelector: labelSelector(
      "Their namespaces by label, an empty one means all; absent: the namespace of this object.",
    ).exactOptional(),
    ipBlock: ipBlock.exactOptional(),
  }),
  [
    {
      rule: "has(self.ipBlock) != (has(self.podSelector) || has(self.namespaceSelector))",
      message: "must have either an ipBlock, or a podSelector, a namespaceSelector or both",
    },
  ],
);

/** Who may consume. Of the proxy pods alone: nothing but the health server listens in target pods. */
export const networkPolicy = z
  .strictObject({
    // In a NetworkPolicy an empty list means everybody, here one would read it as nobody.
    from: z
      .array(peer)
      .min(1)
      .max(32)
      .meta({ "x-kubernetes-list-type": "atomic" })
      .describe("Who may consume, as in a NetworkPolicy: any of these."),
  })
  .describe(
    "A NetworkPolicy of the proxy pods: only these may consume. The rendezvous and the health port (probes, metrics) stay open to all. Absent: the chart's config.networkPolicy, and without one no policy. It takes a network plugin that enforces such policies.",
  );

export type NetworkPolicy = z.output<typeof networkPolicy>;

const noEffect = "networkPolicy has no effect on pods with hostNetwork: Kubernetes does not apply it to them";

/** On a Proxy as a whole. */
export const proxyNetworkRule: Rule = {
  rule: "!has(self.spec.networkPolicy) || !has(self.spec.podTemplate) || !self.spec.podTemplate.hostNetwork",
  message: noEffect,
};

/** On the spec of a Tunnel, where the proxy side's own template comes first. */
export const tunnelNetworkRule: Rule = {
  rule: "!has(self.networkPolicy) || !(has(self.proxy.podTemplate) && has(self.proxy.podTemplate.hostNetwork) ? self.proxy.podTemplate.hostNetwork : has(self.podTemplate) && self.podTemplate.hostNetwork)",
  message: noEffect,
};
