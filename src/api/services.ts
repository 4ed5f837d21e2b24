import { z } from "zod";
import { apiGroup, labels } from "../names.ts";
import { checked, type Rule, text, textMap } from "./checked.ts";

// What users may say about the two Services beside name and ports. A field that is absent is not written at all: it is Kubernetes' own default.

const trafficPolicy = z.enum(["Cluster", "Local"]);

/** Of both Services. */
const loadBalancerClass = text()
  .exactOptional()
  .describe(
    "Which load balancer implementation serves a Service of type LoadBalancer; absent: the cluster's own. Kubernetes never changes it, so another one needs another type in between.",
  );

const taken = [labels.name, labels.managedBy, labels.component];

const serviceLabels = checked(
  z.record(z.string(), z.string().max(63)).meta({
    description: "Labels of the Service, beside those of netaminity.",
    maxProperties: 64,
  }),
  [
    {
      rule: `self.all(key, !key.startsWith('${apiGroup}/') && !(key in [${taken.map((each) => `'${each}'`).join(", ")}]))`,
      message: `${taken.join(", ")} and labels that begin with ${apiGroup}/ are set by the operator, which finds the Service by them`,
    },
  ],
);

/** Fields of the consumer Service, all optional. */
export const consumerServiceOptions = {
  type: z
    .enum(["ClusterIP", "NodePort", "LoadBalancer"])
    .exactOptional()
    .describe(
      "ClusterIP (when absent) for consumers in this cluster, NodePort or LoadBalancer for those outside as well.",
    ),
  annotations: textMap()
    .exactOptional()
    .describe("Annotations of the Service, for example those that a load balancer controller or external-dns reads."),
  labels: serviceLabels.exactOptional(),
  nodePort: z
    .int()
    .min(1)
    .max(65535)
    .exactOptional()
    .describe(
      "Fixed port on the nodes, with type NodePort or LoadBalancer, within the range of the cluster (30000 to 32767 unless it was changed). Absent: the cluster chooses.",
    ),
  loadBalancerClass,
  sessionAffinity: z
    .enum(["None", "ClientIP"])
    .exactOptional()
    .describe(
      "ClientIP keeps a consumer's address with one proxy pod, that is with one pair, for the three hours that are Kubernetes' default; None when absent.",
    ),
  trafficDistribution: z
    .enum(["PreferClose", "PreferSameZone", "PreferSameNode"])
    .exactOptional()
    .describe(
      "Prefer proxy pods near the consumer while there are such that carry a session. Kubernetes has PreferSameZone and PreferSameNode from 1.34 on.",
    ),
  internalTrafficPolicy: trafficPolicy
    .exactOptional()
    .describe(
      "Local: consumers inside the cluster reach only a proxy pod on their own node that carries a session, and none where there is no such pod. Cluster when absent.",
    ),
  externalTrafficPolicy: trafficPolicy
    .exactOptional()
    .describe(
      "Local, with type NodePort or LoadBalancer: the consumer's address is kept, and only nodes with a proxy pod that carries a session answer. Cluster when absent.",
    ),
  ipFamilyPolicy: z
    .enum(["SingleStack", "PreferDualStack", "RequireDualStack"])
    .exactOptional()
    .describe("Which IP families the Service has; PreferDualStack when absent."),
};

/** Fields of the rendezvous Service beside those that it always had. */
export const proxyServiceOptions = {
  loadBalancerClass,
  externalTrafficPolicy: trafficPolicy
    .exactOptional()
    .describe(
      "Local, with type NodePort or LoadBalancer: only the node of the active proxy pod answers, and the Target's address is kept. After a failover Targets have to wait until the load balancer's health check has found the other node; a NodePort is then to be dialled on that one node. Cluster when absent.",
    ),
  externalHost: checked(
    z
      .string()
      .max(253)
      .exactOptional()
      .describe(
        "Name or address that Targets are told, without a port, in the place of the load balancer's own address or of the operator's proxyHost: for example a DNS name in front of it. With type NodePort or LoadBalancer.",
      ),
    [
      {
        rule: "self.contains(':') ? isIP(self) : self.matches(r'^([A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?\\.)*([0-9]*[A-Za-z_]([-A-Za-z0-9_]*[A-Za-z0-9_])?|[0-9]+-[-A-Za-z0-9_]*[A-Za-z0-9_])\\.?$') || isIP(self)",
        message:
          "must be a name or an address without a port, for example tunnel.example.net, 192.0.2.7 or 2001:db8::7",
      },
    ],
  ),
};

export type ConsumerServiceOptions = z.output<z.ZodObject<typeof consumerServiceOptions>>;

// `type` has a default in one Service and none in the other; an empty class is an absent one, as in Kubernetes.
const typeOf = (service: string) => `(has(${service}.type) ? ${service}.type : 'ClusterIP')`;
const classOf = (service: string) => `(has(${service}.loadBalancerClass) ? ${service}.loadBalancerClass : '')`;
const isOutward = `${typeOf("self")} in ['NodePort', 'LoadBalancer']`;
const isBalanced = `${typeOf("self")} == 'LoadBalancer'`;

/** Kubernetes refuses another class, also one where there was none, as long as the Service stays of that type. */
const fixedClass = (isSameService: string): Rule => ({
  rule: `!(${isSameService}) || !(${isBalanced}) || ${typeOf("oldSelf")} != 'LoadBalancer' || ${classOf("self")} == ${classOf("oldSelf")}`,
  message:
    "loadBalancerClass cannot change while type is LoadBalancer: Kubernetes fixes it; set another type first, and this afterwards",
});

const onlyOutward = (field: string): Rule => ({
  rule: `!has(self.${field}) || ${isOutward}`,
  message: `${field} can only be set with type NodePort or LoadBalancer`,
  fieldPath: `.${field}`,
});

export const consumerServiceRules: readonly Rule[] = [
  onlyOutward("nodePort"),
  onlyOutward("externalTrafficPolicy"),
  {
    rule: `${classOf("self")} == '' || ${isBalanced}`,
    message: "loadBalancerClass can only be set with type LoadBalancer",
    fieldPath: ".loadBalancerClass",
  },
  // Under another name it is another Service.
  fixedClass("self.name == oldSelf.name"),
];

export const proxyServiceRules: readonly Rule[] = [
  onlyOutward("externalTrafficPolicy"),
  onlyOutward("externalHost"),
  fixedClass("true"),
];

/** On a Proxy as a whole. */
export const proxyPortsRule: Rule = {
  rule: "!has(self.spec.service) || !has(self.spec.service.nodePort) || !has(self.spec.proxyService.nodePort) || self.spec.service.nodePort != self.spec.proxyService.nodePort",
  message:
    "spec.service.nodePort and spec.proxyService.nodePort must differ: a port of the nodes belongs to one Service",
};

/** On the spec of a Tunnel. */
export const tunnelServiceRules: readonly Rule[] = [
  {
    rule: "!has(self.service.nodePort) || !has(self.proxy.proxyService.nodePort) || self.service.nodePort < self.proxy.proxyService.nodePort || self.service.nodePort >= self.proxy.proxyService.nodePort + self.replicas",
    message:
      "service.nodePort must not be one of proxy.proxyService.nodePort to proxy.proxyService.nodePort + replicas - 1: the pairs use those",
  },
  {
    rule: "!has(self.proxy.proxyService.externalHost) || self.proxy.proxyService.type != 'LoadBalancer' || self.replicas <= 1",
    message:
      "proxy.proxyService.externalHost with type LoadBalancer needs replicas of 1: each pair has a load balancer of its own, and one name cannot lead to each of them",
  },
];
