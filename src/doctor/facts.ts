/** What the doctor looked at. Reading fills these; the checks are pure functions of them. */

import type { Condition } from "../api/conditions.ts";
import type { ProxyResource } from "../api/proxy.ts";
import type { TargetResource } from "../api/target.ts";
import type { TunnelResource } from "../api/tunnel.ts";
import type { ObservedDeployment, ObservedNode, ObservedPod, ObservedSecret } from "../plan/observed.ts";
import type { Samples } from "./samples.ts";

/** The outcome of one look: what is there, that nothing is, or why that cannot be told. */
export type Found<T> = { found: T } | { absent: "object" | "kind" } | { unknown: string };

export function seen<T>(look: Found<T>): T | undefined {
  return "found" in look ? look.found : undefined;
}

/** The part of an EndpointSlice that says where a Service leads. */
export interface SliceFacts {
  endpoints?: readonly {
    addresses: readonly string[];
    conditions?: { ready?: boolean };
    targetRef?: { name?: string };
  }[];
}

/** What an agent says of itself, asked through the API server. */
export interface AgentFacts {
  pod: string;
  /** Text of `/readyz`. */
  readiness: Found<string>;
  samples: Found<Samples>;
  /** Its latest lines of level warn or error, the last one last. */
  warnings: Found<readonly string[]>;
}

export interface WorkloadFacts {
  secret: Found<ObservedSecret>;
  deployment: Found<ObservedDeployment>;
  pods: Found<readonly ObservedPod[]>;
  nodes: Found<readonly ObservedNode[]>;
  /** Of those pods that run. */
  agents: readonly AgentFacts[];
}

export interface ProxyFacts extends WorkloadFacts {
  name: string;
  object: Found<ProxyResource>;
  /** Of the rendezvous Service. */
  rendezvous: Found<readonly SliceFacts[]>;
  /** Of the consumer Service; absent when the Proxy has none of its own. */
  consumers?: Found<readonly SliceFacts[]>;
}

export interface TargetFacts extends WorkloadFacts {
  name: string;
  object: Found<TargetResource>;
}

export interface TunnelFacts {
  object: Found<TunnelResource>;
  secret: Found<ObservedSecret>;
  pairs: readonly { proxy: ProxyFacts; target: TargetFacts }[];
  consumers: Found<readonly SliceFacts[]>;
}

/** What came of a request through the tunnel. */
export interface ProbeFacts {
  pod: string;
  /** Milliseconds until the answer, or until it was clear that none comes. */
  milliseconds: number;
  /** `answer`: bytes came back. `reset`: the connection was cut. `silence`: none of both in time. `impossible`: it could not be sent. */
  result: "answer" | "reset" | "silence" | "impossible";
  /** The first line of what came back, or why nothing did. */
  detail: string;
  /** What the proxy pod counted meanwhile, as far as it could be asked. */
  counted?: { started: number; results: ReadonlyMap<string, number>; toBackend: number; toConsumer: number };
}

export interface Conditioned {
  status?: { conditions: readonly Condition[] };
}

export function conditionOf(object: Conditioned, type: string): Condition | undefined {
  return object.status?.conditions.find((condition) => condition.type === type);
}
