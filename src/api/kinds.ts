import type { z } from "zod";
import type { Rule } from "./fields.ts";
import { proxyRules, proxySpec, proxyStatus } from "./proxy.ts";
import { targetRules, targetSpec, targetStatus } from "./target.ts";
import { tunnelRules, tunnelSpec, tunnelStatus } from "./tunnel.ts";

/** A column of `kubectl get`. Priority 1 is shown with `-o wide` only. */
export interface Column {
  name: string;
  type: "string" | "integer" | "date";
  jsonPath: string;
  description: string;
  priority?: 1;
}

/** Everything that makes one kind of our API. */
export interface Kind {
  kind: "Tunnel" | "Proxy" | "Target";
  singular: string;
  plural: string;
  shortName: string;
  description: string;
  spec: z.ZodType;
  status: z.ZodType;
  /** Status of an object that the operator has not looked at, apart from what all kinds have. */
  counts: Readonly<Record<string, unknown>>;
  rules: readonly Rule[];
  columns: readonly Column[];
}

const condition = (type: string, field: string) => `.status.conditions[?(@.type=="${type}")].${field}`;

const ready: Column = {
  name: "Ready",
  type: "string",
  jsonPath: condition("Ready", "status"),
  description: "Whether it does its job.",
};
const reason: Column = {
  name: "Reason",
  type: "string",
  jsonPath: condition("Ready", "reason"),
  description: "Why, in one word.",
};
const message: Column = {
  name: "Message",
  type: "string",
  jsonPath: condition("Ready", "message"),
  description: "Why, in a sentence.",
  priority: 1,
};
const encryption: Column = {
  name: "Encryption",
  type: "string",
  jsonPath: ".spec.encryption",
  description: "Whether encryption between proxy and target is asked for.",
  priority: 1,
};
const age: Column = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "Time since it was made.",
};
const consumers: Column = {
  name: "Consumers",
  type: "string",
  jsonPath: ".status.consumerEndpoint",
  description: "Where consumers connect.",
};

const tunnelKind: Kind = {
  kind: "Tunnel",
  singular: "tunnel",
  plural: "tunnels",
  shortName: "tnl",
  description:
    "A Tunnel carries TCP connections from a Service to a backend that only its target pods can reach, inside one cluster: it makes the secret, the consumer Service and pairs of a Proxy and a Target.",
  spec: tunnelSpec,
  status: tunnelStatus,
  counts: { replicas: 0, readyReplicas: 0, readyProxyReplicas: 0, readyTargetReplicas: 0, replicasStatus: [] },
  rules: tunnelRules,
  columns: [
    ready,
    {
      name: "Pairs",
      type: "integer",
      jsonPath: ".status.readyReplicas",
      description: "Pairs that carry traffic.",
    },
    { name: "Wanted", type: "integer", jsonPath: ".spec.replicas", description: "Pairs that are wanted." },
    consumers,
    { name: "Backend", type: "string", jsonPath: ".spec.target.endpoint", description: "Where connections end." },
    reason,
    {
      name: "Proxies",
      type: "integer",
      jsonPath: ".status.readyProxyReplicas",
      description: "Pairs whose Proxy is Ready.",
      priority: 1,
    },
    {
      name: "Targets",
      type: "integer",
      jsonPath: ".status.readyTargetReplicas",
      description: "Pairs whose Target is Ready.",
      priority: 1,
    },
    {
      name: "Available",
      type: "string",
      jsonPath: condition("Available", "status"),
      description: "Whether at least one pair carries traffic.",
      priority: 1,
    },
    encryption,
    message,
    age,
  ],
};

const proxyKind: Kind = {
  kind: "Proxy",
  singular: "proxy",
  plural: "proxies",
  shortName: "prx",
  description:
    "A Proxy is the reachable end of a tunnel: proxy pods, the rendezvous Service that Targets dial, and the Service that consumers connect to.",
  spec: proxySpec,
  status: proxyStatus,
  counts: { replicas: 0, liveReplicas: 0, readyReplicas: 0, updatedReplicas: 0 },
  rules: proxyRules,
  columns: [
    ready,
    {
      name: "Connected",
      type: "string",
      jsonPath: condition("Connected", "status"),
      description: "Whether a Target session is up and consumers are served.",
    },
    {
      name: "Endpoint",
      type: "string",
      jsonPath: ".status.proxyEndpoint",
      description: "Where its Target connects: the Target's spec.proxyEndpoint.",
    },
    consumers,
    reason,
    {
      name: "Active",
      type: "string",
      jsonPath: ".status.activePod",
      description: "The proxy pod to which the rendezvous leads.",
      priority: 1,
    },
    {
      name: "Live",
      type: "integer",
      jsonPath: ".status.liveReplicas",
      description: "Proxy pods that could be the active one.",
      priority: 1,
    },
    encryption,
    message,
    age,
  ],
};

const targetKind: Kind = {
  kind: "Target",
  singular: "target",
  plural: "targets",
  shortName: "tgt",
  description:
    "A Target is the outbound-only end of a tunnel: pods that dial the Proxy's rendezvous and, for each consumer, the backend.",
  spec: targetSpec,
  status: targetStatus,
  counts: { replicas: 0, readyReplicas: 0, updatedReplicas: 0 },
  rules: targetRules,
  columns: [
    ready,
    {
      name: "Sessions",
      type: "integer",
      jsonPath: ".status.readyReplicas",
      description: "Target pods whose session with the proxy is up.",
    },
    { name: "Wanted", type: "integer", jsonPath: ".spec.replicas", description: "Target pods that are wanted." },
    { name: "Proxy", type: "string", jsonPath: ".spec.proxyEndpoint", description: "The rendezvous it dials." },
    { name: "Backend", type: "string", jsonPath: ".spec.endpoint", description: "Where connections end." },
    reason,
    encryption,
    message,
    age,
  ],
};

export const kinds: readonly Kind[] = [tunnelKind, proxyKind, targetKind];
