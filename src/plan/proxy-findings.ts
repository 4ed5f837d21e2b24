import { activeContainerAnnotation, attemptAnnotation } from "../desired/endpoint-slice.ts";
import { proxyDeployment } from "../desired/proxy-deployment.ts";
import { rendezvousService } from "../desired/rendezvous-service.ts";
import { type ActivePodChoice, chooseActivePod, isSilent } from "./active-pod.ts";
import { type Attempt, parseAttempt } from "./attempt.ts";
import { type Endpoint, rendezvousEndpoint } from "./endpoint.ts";
import type { ObservedDeployment, ObservedPod, ProxyInput } from "./observed.ts";
import { ownedBy } from "./ownership.ts";
import { type Paced, pace } from "./pace.ts";
import { isLive, isReady, isStaying, workloadOf } from "./pods.ts";

/** What was concluded from the observations; everything else follows from it. */
export interface ProxyFindings {
  deployment: ObservedDeployment | undefined;
  pods: ObservedPod[];
  livePods: ObservedPod[];
  /** Pods that carry a session, as far as is known. */
  servingPods: ObservedPod[];
  newestRevision: string | undefined;
  /** What becomes of the Deployment. */
  paced: Paced;
  choice: ActivePodChoice;
  former: FormerPod | undefined;
  endpoint: Endpoint;
}

/** The pod that the EndpointSlices hold when the pass begins. */
export interface FormerPod {
  uid: string;
  name: string;
  containerId: string | undefined;
  attempt: Attempt | undefined;
}

export function findingsOf(input: ProxyInput): ProxyFindings {
  const { proxy, nodes, probes, now, takenNodes } = input;
  const deployment = ownDeployment(input);
  const workload = workloadOf(deployment, input.replicaSets, input.pods);
  const former = formerPod(input);
  const secretVersion = input.secret?.metadata.resourceVersion ?? "";
  const choice = chooseActivePod({
    ...workload,
    nodes,
    probes,
    current: former,
    attempt: former?.attempt?.secret === secretVersion ? former.attempt : undefined,
    secretVersion,
    now,
    takenNodes,
  });
  // Silence counts only where the operator reaches pods at all.
  const canProbe = probes.some(({ healthy }) => healthy);
  const rendezvous = rendezvousService(proxy).metadata.name;
  const service = ownedBy(proxy, input.services).find(({ metadata }) => metadata.name === rendezvous);
  return {
    deployment,
    paced: pace(proxy, proxyDeployment(proxy, input.settings.agent), deployment, input.turn),
    pods: workload.pods.filter(isStaying),
    livePods: workload.pods.filter((pod) => isLive(pod, nodes)),
    servingPods: workload.pods.filter((pod) => isReady(pod) && !(canProbe && isSilent(pod, probes))),
    newestRevision: workload.newestRevision,
    choice,
    former,
    endpoint: rendezvousEndpoint(proxy, service, input.settings.proxyHost),
  };
}

function ownDeployment({ proxy, deployments, settings }: ProxyInput) {
  const { name } = proxyDeployment(proxy, settings.agent).metadata;
  return ownedBy(proxy, deployments).find(({ metadata }) => metadata.name === name);
}

/** The choice survives restarts of the operator because it is read back from the slices. */
function formerPod({ proxy, endpointSlices: slices }: ProxyInput): FormerPod | undefined {
  for (const { endpoints = [], metadata } of ownedBy(proxy, slices)) {
    const { uid, name } = endpoints[0]?.targetRef ?? {};
    if (uid !== undefined && name !== undefined) {
      const { annotations = {} } = metadata;
      const attempt = parseAttempt(annotations[attemptAnnotation]);
      return { uid, name, containerId: annotations[activeContainerAnnotation], attempt };
    }
  }
  return undefined;
}
