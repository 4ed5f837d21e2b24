import type { ProxyResource, ProxyStatus } from "../api/proxy.ts";
import { isApplied } from "../desired/applied.ts";
import { proxyConsumerService } from "../desired/consumer-service.ts";
import { type ActiveEndpoint, activeContainerAnnotation, endpointSlices } from "../desired/endpoint-slice.ts";
import { proxyDeployment } from "../desired/proxy-deployment.ts";
import { rendezvousService } from "../desired/rendezvous-service.ts";
import { type ActivePodChoice, chooseActivePod, isSilent } from "./active-pod.ts";
import { bad, firstObjection, good, nextConditions, transitionEvents, type Verdict } from "./conditions.ts";
import { type Endpoint, rendezvousEndpoint } from "./endpoint.ts";
import type { ObservedPod, ProxyInput } from "./observed.ts";
import { ownedBy, refOf, unwanted } from "./ownership.ts";
import type { DesiredObject, EventNote, Plan } from "./plan.ts";
import {
  addressesOf,
  isLive,
  isNewest,
  isOnReadyNode,
  isReady,
  isStaying,
  runningContainer,
  workloadOf,
} from "./pods.ts";
import { retryPause } from "./retry.ts";
import { rolledOut } from "./rollout.ts";
import { deploymentFailing, podsFailing, refused, secretUnusable } from "./workload-checks.ts";

/** What was concluded from the observations; everything else follows from it. */
interface Findings {
  pods: ObservedPod[];
  livePods: ObservedPod[];
  /** Pods that carry a session, as far as is known. */
  servingPods: ObservedPod[];
  newestRevision: string | undefined;
  choice: ActivePodChoice;
  former: FormerPod | undefined;
  endpoint: Endpoint;
}

/** The pod that the EndpointSlices hold when the pass begins. */
interface FormerPod {
  uid: string;
  name: string;
  containerId: string | undefined;
}

/** Decides what a Proxy needs: its Deployment, its Services, and the slices that lead to exactly one of its pods. */
export function planProxy(input: ProxyInput): Plan<ProxyStatus> {
  const { proxy, failures } = input;
  const findings = find(input);
  const consumerService = proxyConsumerService(proxy);
  const apply: DesiredObject[] = [
    rendezvousService(proxy),
    ...endpointSlices(proxy, activeEndpoint(findings)),
    ...(consumerService === undefined ? [] : [consumerService]),
    proxyDeployment(proxy, input.settings.agent),
  ];
  const observed = [...input.deployments, ...input.services, ...input.endpointSlices];
  const status = statusOf(input, findings);
  return {
    create: [],
    apply,
    remove: [
      ...unwanted(proxy, observed, apply, failures),
      ...findings.choice.silent.map((pod) => refOf(pod, proxy.metadata.namespace)),
    ],
    status,
    events: [...activeEvents(findings), ...transitionEvents(proxy.status?.conditions, status.conditions)],
    ...retryPause(failures),
  };
}

function find(input: ProxyInput): Findings {
  const { proxy, nodes, probes } = input;
  const workload = workloadOf(ownDeployment(input), input.replicaSets, input.pods);
  const former = formerPod(input);
  const choice = chooseActivePod({ ...workload, nodes, probes, current: former });
  // Silence counts only where the operator reaches pods at all.
  const canProbe = probes.some(({ healthy }) => healthy);
  const rendezvous = rendezvousService(proxy).metadata.name;
  const service = ownedBy(proxy, input.services).find(({ metadata }) => metadata.name === rendezvous);
  return {
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
      return { uid, name, containerId: metadata.annotations?.[activeContainerAnnotation] };
    }
  }
  return undefined;
}

function activeEndpoint({ choice: { active }, former }: Findings): ActiveEndpoint | undefined {
  if (active === undefined) return undefined;
  const remembered = former?.uid === active.metadata.uid ? former.containerId : undefined;
  return {
    pod: active.metadata,
    // While the agent is down its last id stays, so that its return is seen as a restart.
    containerId: runningContainer(active) ?? remembered ?? "",
    nodeName: active.spec?.nodeName,
    addresses: addressesOf(active),
  };
}

function statusOf(input: ProxyInput, findings: Findings): ProxyStatus {
  const { proxy, now } = input;
  const { metadata, spec } = proxy;
  const { pods, livePods, servingPods, newestRevision, choice, endpoint } = findings;
  const generation = metadata.generation ?? 0;
  const ready = readiness(input, findings);
  return {
    observedGeneration: generation,
    conditions: nextConditions(
      proxy.status?.conditions,
      [
        ["Ready", ready],
        ["Connected", connection(findings, ready)],
        ["Updated", refused(input.failures) ?? updated(input, findings)],
      ],
      { now, generation },
    ),
    ...("known" in endpoint && { proxyEndpoint: endpoint.known }),
    ...(spec.service && { consumerEndpoint: `${spec.service.name}.${metadata.namespace}.svc:${spec.service.port}` }),
    ...(choice.active && { activePod: choice.active.metadata.name }),
    replicas: pods.length,
    liveReplicas: livePods.length,
    readyReplicas: servingPods.length,
    updatedReplicas: pods.filter((pod) => isNewest(pod, newestRevision)).length,
  };
}

/** Ready needs no session: the Target may be made only afterwards, from the endpoint that this announces. */
function readiness(input: ProxyInput, { pods, livePods, choice, endpoint }: Findings): Verdict {
  const { proxy, failures, secret, nodes } = input;
  const active = choice.active;
  const isBehind = active !== undefined && livePods.includes(active);
  return firstObjection(
    [
      refused(failures),
      scaledToZero(proxy),
      secretUnusable(proxy.spec.secretRef.name, secret),
      "unknown" in endpoint ? endpoint.unknown : undefined,
      isBehind ? undefined : noLivePod(active, pods, nodes, input),
    ],
    good("Available", `targets can connect${"known" in endpoint ? ` to ${endpoint.known}` : ""}`),
  );
}

function scaledToZero({ spec }: ProxyResource): Verdict | undefined {
  return spec.replicas === 0 ? bad("ScaledToZero", "spec.replicas is 0") : undefined;
}

function noLivePod(
  active: ObservedPod | undefined,
  pods: readonly ObservedPod[],
  nodes: ProxyInput["nodes"],
  input: ProxyInput,
): Verdict {
  if (active !== undefined && runningContainer(active) !== undefined && !isOnReadyNode(active, nodes)) {
    return bad(
      "NodeNotReady",
      `proxy pod ${active.metadata.name} is on node ${active.spec?.nodeName}, which is not ready, and no other pod can take over`,
    );
  }
  return podsFailing(pods) ?? deploymentFailing(ownDeployment(input)) ?? bad("PodsStarting", "no proxy pod runs yet");
}

function connection({ servingPods, endpoint }: Findings, ready: Verdict): Verdict {
  const [serving] = servingPods;
  if (serving !== undefined)
    return good("SessionUp", `pod ${serving.metadata.name} carries a session and serves consumers`);
  if (ready.status === "False") return ready;
  const where = "known" in endpoint ? ` at ${endpoint.known}` : "";
  return bad(
    "WaitingForTarget",
    `no target has a session yet; its proxyEndpoint${where} and its secret must be those of this Proxy`,
  );
}

function updated(input: ProxyInput, { pods, newestRevision }: Findings): Verdict {
  const deployment = ownDeployment(input);
  const isWanted = isApplied(proxyDeployment(input.proxy, input.settings.agent), deployment);
  const newest = pods.filter((pod) => isNewest(pod, newestRevision));
  const running = newest.filter((pod) => runningContainer(pod) !== undefined);
  return rolledOut(
    isWanted ? deployment : undefined,
    { wanted: input.proxy.spec.replicas, newest: running.length, all: pods.length },
    podsFailing(newest) ?? deploymentFailing(deployment),
  );
}

function activeEvents({ choice: { active, departure, silent }, former }: Findings): EventNote[] {
  const deleted = silent.map(
    ({ metadata: { name } }): EventNote => ({
      type: "Warning",
      reason: "SilentPodDeleted",
      message: `pod ${name} does not answer though Kubernetes calls it ready; it was replaced by ${active?.metadata.name} and is deleted`,
    }),
  );
  if (departure === undefined || former === undefined) return deleted;
  const why = `${former.name} ${departure}`;
  const moved: EventNote =
    active === undefined
      ? { type: "Warning", reason: "ActivePodLost", message: `${why}, and no other proxy pod runs` }
      : {
          type: "Normal",
          reason: "ActivePodChanged",
          message: `the rendezvous leads to pod ${active.metadata.name} now: ${why}`,
        };
  return [moved, ...deleted];
}
