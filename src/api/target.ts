import { z } from "zod";
import { conditions } from "./conditions.ts";
import {
  drainTimeout,
  encryption,
  endpoint,
  nameRule,
  paused,
  podSelector,
  type Rule,
  replicas,
  secretFingerprint,
  secretRef,
  sendProxyProtocol,
} from "./fields.ts";
import { podTemplate } from "./pod-template.ts";
import type { Resource } from "./resource.ts";

export const targetSpec = z
  .strictObject({
    replicas: replicas("Target pods, each with a session of its own; consumers are spread over them."),
    secretRef,
    endpoint: endpoint("host:port of the backend, as seen from the target pod."),
    proxyEndpoint: endpoint("host:port of the rendezvous: the status.proxyEndpoint of the Proxy."),
    encryption: encryption(
      "Whether everything between the target pod and the proxy is encrypted (TLS 1.3). required: nothing is said to a proxy that does not encrypt.",
    ),
    sendProxyProtocol,
    drainTimeout: drainTimeout(),
    paused,
    podTemplate: podTemplate.exactOptional(),
  })
  .describe("What is wanted.");

export const targetStatus = z
  .strictObject({
    observedGeneration: z.int().min(0).describe("The metadata.generation that this status is about."),
    conditions,
    replicas: z.int().min(0).describe("Target pods that exist and are not being deleted."),
    readyReplicas: z.int().min(0).describe("Target pods whose session with the proxy is up."),
    updatedReplicas: z.int().min(0).describe("Target pods of the newest revision of the pod template."),
    secretFingerprint,
    selector: podSelector,
  })
  .describe("What was seen last.");

/** Rules on the whole object. */
export const targetRules: readonly Rule[] = [nameRule(52)];

export type TargetSpec = z.output<typeof targetSpec>;
export type TargetStatus = z.output<typeof targetStatus>;
export type TargetResource = Resource<"Target", TargetSpec, TargetStatus>;
