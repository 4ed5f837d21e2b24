import { z } from "zod";
import { conditions } from "./conditions.ts";
import {
  acceptProxyProtocol,
  checked,
  consumerService,
  drainTimeout,
  encryption,
  endpoint,
  nameRule,
  paused,
  podSelector,
  proxyService,
  type Rule,
  replicas,
  sendProxyProtocol,
} from "./fields.ts";
import { networkPolicy, tunnelNetworkRule } from "./network-policy.ts";
import { podTemplate, podTemplateOverride } from "./pod-template.ts";
import type { Resource } from "./resource.ts";
import { tunnelServiceRules } from "./services.ts";

const proxySide = z
  .strictObject({
    replicas: replicas("Interchangeable proxy pods of each pair: one is active, the others stand by."),
    proxyService: proxyService.prefault({}),
    acceptProxyProtocol,
    podTemplate: podTemplateOverride
      .exactOptional()
      .describe("Fields here replace the same fields of spec.podTemplate for proxy pods."),
  })
  .describe("The side that consumers and Targets connect to.");

const targetSide = z
  .strictObject({
    replicas: replicas("Target pods of each pair, each with a session of its own; consumers are spread over them."),
    endpoint: endpoint("host:port of the backend, as seen from the target pods."),
    sendProxyProtocol,
    podTemplate: podTemplateOverride
      .exactOptional()
      .describe("Fields here replace the same fields of spec.podTemplate for target pods."),
  })
  .describe("The side that dials out to the proxy and to the backend.");

export const tunnelSpec = checked(
  z
    .strictObject({
      replicas: replicas("Independent Proxy and Target pairs."),
      service: consumerService,
      podTemplate: podTemplate.exactOptional().describe("What the pods of both sides have in common."),
      encryption: encryption(
        "Whether everything between the proxy and target pods is encrypted (TLS 1.3). It is switched on and off under load without a cut: the target side encrypts before the proxy side refuses what is plain.",
      ),
      drainTimeout: drainTimeout(),
      paused,
      networkPolicy: networkPolicy.exactOptional(),
      proxy: proxySide.prefault({}),
      target: targetSide,
    })
    .describe("What is wanted."),
  [
    {
      rule: "!has(self.proxy.proxyService.nodePort) || self.proxy.proxyService.nodePort + self.replicas - 1 <= 65535",
      message: "proxy.proxyService.nodePort + replicas - 1 must not exceed 65535: pair i uses nodePort + i",
    },
    ...tunnelServiceRules,
    tunnelNetworkRule,
  ],
);

const pairStatus = z.strictObject({
  index: z.int().min(0).describe("Number of the pair, from 0."),
  proxy: z.string().describe("Name of its Proxy."),
  target: z.string().describe("Name of its Target."),
  endpoint: z.string().exactOptional().describe("host:port at which its Target meets its Proxy, once known."),
  ready: z.boolean().describe("Whether it carries traffic."),
  message: z
    .string()
    .exactOptional()
    .describe("What it waits for when it does not, or what a change of spec.encryption waits for."),
});

const count = (description: string) => z.int().min(0).describe(description);

export const tunnelStatus = z
  .strictObject({
    observedGeneration: z.int().min(0).describe("The metadata.generation that this status is about."),
    conditions,
    consumerEndpoint: z.string().exactOptional().describe("host:port to which consumers connect inside this cluster."),
    replicas: count("Pairs that exist."),
    readyReplicas: count("Pairs that carry traffic."),
    readyProxyReplicas: count("Pairs whose Proxy is Ready."),
    readyTargetReplicas: count("Pairs whose Target is Ready."),
    selector: podSelector,
    replicasStatus: z
      .array(pairStatus)
      .max(64)
      .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["index"] })
      .describe("State of each pair."),
  })
  .describe("What was seen last.");

/** Rules on the whole object. The longest child name is `<name>-63-rendezvous`. */
export const tunnelRules: readonly Rule[] = [
  nameRule(49),
  {
    rule: "!self.spec.service.name.startsWith(self.metadata.name + '-') || !self.spec.service.name.substring(self.metadata.name.size()).matches('^-[0-9]{1,2}-rendezvous$')",
    message: "spec.service.name must not be <name>-<number>-rendezvous: those are the rendezvous Services of its pairs",
  },
];

export type TunnelSpec = z.output<typeof tunnelSpec>;
export type TunnelStatus = z.output<typeof tunnelStatus>;
export type PairStatus = z.output<typeof pairStatus>;
export type TunnelResource = Resource<"Tunnel", TunnelSpec, TunnelStatus>;
