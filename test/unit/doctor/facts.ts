/** Facts of a tunnel that works, valid by default; each maker takes what a test is about. */
import type { Condition } from "../../../src/api/conditions.ts";
import type { ProxyStatus } from "../../../src/api/proxy.ts";
import type { TargetStatus } from "../../../src/api/target.ts";
import { type Check, diagnose } from "../../../src/doctor/check.ts";
import type { AgentFacts, ProxyFacts, TargetFacts, TunnelFacts } from "../../../src/doctor/facts.ts";
import { readSamples } from "../../../src/doctor/samples.ts";
import {
  makeDeployment,
  makeNode,
  makePod,
  makeProxy,
  makeSecret,
  makeTarget,
  makeTunnel,
  now,
} from "../../support/objects.ts";

export const absent = { absent: "object" } as const;
export const denied = { unknown: "not allowed: nodes is forbidden" } as const;

export function condition(
  type: string,
  status: "True" | "False",
  reason: string,
  message = `${reason} it is`,
): Condition {
  return { type, status, reason, message, lastTransitionTime: now, observedGeneration: 3 };
}

export function agent(
  pod: string,
  metrics = "netaminity_sessions 1\nnetaminity_streams_open 2\n",
  given: Partial<AgentFacts> = {},
): AgentFacts {
  return {
    pod,
    readiness: { found: "ready" },
    samples: { found: readSamples(metrics) },
    warnings: { found: [] },
    ...given,
  };
}

const ready = [condition("Ready", "True", "Available"), condition("Connected", "True", "SessionUp")];

export function proxyStatus(given: Partial<ProxyStatus> = {}): ProxyStatus {
  return {
    ...{ observedGeneration: 3, conditions: ready, proxyEndpoint: "edge-rendezvous.demo.svc:7835", activePod: "p" },
    ...{ replicas: 1, liveReplicas: 1, readyReplicas: 1, updatedReplicas: 1 },
    ...given,
  };
}

export function targetStatus(given: Partial<TargetStatus> = {}): TargetStatus {
  const conditions = [condition("Ready", "True", "SessionUp")];
  return { observedGeneration: 3, conditions, replicas: 1, readyReplicas: 1, updatedReplicas: 1, ...given };
}

const slice = (...pods: string[]) => ({
  found: [{ endpoints: pods.map((name) => ({ addresses: ["10.1.0.1"], targetRef: { name } })) }],
});

export function proxyFacts(given: Partial<ProxyFacts> = {}): ProxyFacts {
  return {
    name: "edge",
    object: { found: makeProxy({ service: { name: "edge", port: 80 } }, { status: proxyStatus() }) },
    secret: { found: makeSecret() },
    deployment: { found: makeDeployment("edge-proxy") },
    pods: { found: [makePod("p", { ready: true })] },
    nodes: { found: [makeNode("n1")] },
    agents: [agent("p")],
    rendezvous: slice("p"),
    consumers: slice("p"),
    ...given,
  };
}

export function targetFacts(given: Partial<TargetFacts> = {}): TargetFacts {
  return {
    name: "inner",
    object: { found: makeTarget({}, { status: targetStatus() }) },
    secret: { found: makeSecret() },
    deployment: { found: makeDeployment("inner-target") },
    pods: { found: [makePod("t", { ready: true })] },
    nodes: { found: [makeNode("n1")] },
    agents: [agent("t", 'netaminity_sessions 1\nnetaminity_backend_dials_total{result="connected"} 7\n')],
    ...given,
  };
}

export function tunnelFacts(given: Partial<TunnelFacts> = {}): TunnelFacts {
  return {
    object: {
      found: makeTunnel(
        {},
        {
          status: {
            ...{
              observedGeneration: 3,
              conditions: [condition("Ready", "True", "AllPairsReady")],
              replicas: 1,
              readyReplicas: 1,
            },
            ...{ readyProxyReplicas: 1, readyTargetReplicas: 1, replicasStatus: [] },
          },
        },
      ),
    },
    secret: { found: makeSecret() },
    pairs: [{ proxy: proxyFacts({ name: "api-0" }), target: targetFacts({ name: "api-0" }) }],
    consumers: slice("p"),
    ...given,
  };
}

export const outcomes = (checks: readonly Check[]) => checks.map(({ link, outcome }) => `${link} ${outcome}`);

/** The verdict, and the first broken link with its evidence and next step. */
export function finding(checks: readonly Check[]) {
  const { verdict, firstBroken } = diagnose("it", checks);
  const first = firstBroken === undefined ? undefined : checks[firstBroken];
  return [verdict, first?.link, first?.evidence, first?.next];
}
