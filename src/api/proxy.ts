import { z } from "zod";
import { conditions } from "./conditions.ts";
import {
  acceptProxyProtocol,
  consumerService,
  drainTimeout,
  nameRule,
  paused,
  podSelector,
  proxyEncryption,
  proxyService,
  type Rule,
  replicas,
  secretFingerprint,
  secretRef,
} from "./fields.ts";
import { networkPolicy, proxyNetworkRule } from "./network-policy.ts";
import { podTemplate } from "./pod-template.ts";
import type { Resource } from "./resource.ts";
import { proxyPortsRule } from "./services.ts";

export const proxySpec = z
  .strictObject({
    replicas: replicas("Interchangeable proxy pods: one is active, the others stand by."),
    secretRef: secretRef
      .exactOptional()
      .describe(
        "The Secret that both ends share: key secret, and optionally previous-secret, which stays accepted while the secret is being changed. Absent: the operator makes NAME-proxy-secret once, and it goes with this Proxy.",
      ),
    service: consumerService.exactOptional(),
    proxyService: proxyService.prefault({}),
    encryption: proxyEncryption,
    acceptProxyProtocol,
    drainTimeout: drainTimeout(),
    paused,
    podTemplate: podTemplate.exactOptional(),
    networkPolicy: networkPolicy.exactOptional(),
  })
  .describe("What is wanted.");

const count = (description: string) => z.int().min(0).describe(description);

export const proxyStatus = z
  .strictObject({
    observedGeneration: z.int().min(0).describe("The metadata.generation that this status is about."),
    conditions,
    proxyEndpoint: z
      .string()
      .exactOptional()
      .describe("host:port of the rendezvous: the spec.proxyEndpoint of the Target that belongs here."),
    consumerEndpoint: z.string().exactOptional().describe("host:port to which consumers connect inside this cluster."),
    secretName: z
      .string()
      .exactOptional()
      .describe("The Secret that this Proxy uses: that of spec.secretRef, or the one that was made for it."),
    secretFingerprint,
    activePod: z.string().exactOptional().describe("The proxy pod to which the rendezvous leads now."),
    replicas: count("Proxy pods that exist and are not being deleted."),
    liveReplicas: count("Proxy pods that run on a ready node and could be the active one."),
    readyReplicas: count("Proxy pods that carry a Target session."),
    updatedReplicas: count("Proxy pods of the newest revision of the pod template."),
    selector: podSelector,
  })
  .describe("What was seen last.");

/** Rules on the whole object. The longest child name is `<name>-rendezvous`. */
export const proxyRules: readonly Rule[] = [
  nameRule(52),
  {
    rule: "!has(self.spec.service) || self.spec.service.name != self.metadata.name + '-rendezvous'",
    message: "spec.service.name must not be <name>-rendezvous: that is the rendezvous Service",
  },
  proxyPortsRule,
  proxyNetworkRule,
];

export type ProxySpec = z.output<typeof proxySpec>;
export type ProxyStatus = z.output<typeof proxyStatus>;
export type ProxyResource = Resource<"Proxy", ProxySpec, ProxyStatus>;
