/** Input of `planProxy` for a Proxy at rest: two pods, the first active with a session. */
import type { ProxyResource } from "../../src/api/proxy.ts";
import { withHash } from "../../src/desired/applied.ts";
import { proxyDeployment } from "../../src/desired/proxy-deployment.ts";
import type { ApplyFailure, ObservedDeployment, ObservedPod, ProxyInput } from "../../src/plan/observed.ts";
import {
  makeDeployment,
  makeNode,
  makePod,
  makeProxy,
  makeReplicaSet,
  makeSecret,
  makeSlice,
  now,
  type PodFacts,
  settings,
} from "./objects.ts";

export const proxy = makeProxy({ replicas: 2, service: { name: "api", port: 5432 } });

export function makeProxyInput(change: Partial<ProxyInput> = {}): ProxyInput {
  const of = change.proxy ?? proxy;
  const deployment = deploymentOf(of);
  const replicaSet = makeReplicaSet(deployment, 1);
  const pods = [makePod("edge-a", { ready: true }, replicaSet), makePod("edge-b", {}, replicaSet)];
  return {
    proxy: of,
    settings,
    now,
    failures: [],
    secret: makeSecret(),
    freshSecret: "fresh",
    deployments: [deployment],
    replicaSets: [replicaSet],
    services: [],
    networkPolicies: [],
    endpointSlices: pods[0] === undefined ? [] : [makeSlice(of, pods[0])],
    pods,
    nodes: [makeNode("n1")],
    probes: [],
    takenNodes: [],
    ...change,
  };
}

export function deploymentOf(of: ProxyResource, status?: ObservedDeployment["status"]): ObservedDeployment {
  const { annotations = {} } = withHash(proxyDeployment(of, settings.agent)).metadata;
  return makeDeployment("edge-proxy", { owner: of, annotations, ...(status && { status }) });
}

export const replicaSet = makeReplicaSet(deploymentOf(proxy), 1);
export const pod = (name: string, facts: PodFacts = {}): ObservedPod => makePod(name, facts, replicaSet);
export const failure = (kind: ApplyFailure["kind"], object: string, message: string): ApplyFailure => ({
  kind,
  object: { apiVersion: "v1", kind: "Service", name: object },
  message,
});
