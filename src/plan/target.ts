import type { TargetStatus } from "../api/target.ts";
import { selectorOf, selectorText } from "../desired/pod-template.ts";
import { targetDeployment } from "../desired/target-deployment.ts";
import {
  bad,
  firstObjection,
  good,
  nextConditions,
  ofGeneration,
  transitionEvents,
  type Verdict,
} from "./conditions.ts";
import { fingerprintPause, fingerprintStatus } from "./fingerprint.ts";
import { asFormerPair } from "./former-pair.ts";
import type { ObservedDeployment, ObservedPod, TargetInput } from "./observed.ts";
import { ownedBy, unwanted } from "./ownership.ts";
import { askAgain, pace } from "./pace.ts";
import type { Plan } from "./plan.ts";
import { isNewest, isOnReadyNode, isReady, isStaying, runningContainer, workloadOf } from "./pods.ts";
import { withProgress } from "./progress.ts";
import { retryPause, sooner } from "./retry.ts";
import { isObserved, rolledOut } from "./rollout.ts";
import { deploymentFailing, notRemoved, podsFailing, refused, secretUnusable } from "./workload-checks.ts";

/** Decides what a Target needs: one Deployment. It is Ready while a session is up. */
export function planTarget(given: TargetInput): Plan<TargetStatus> {
  const input = { ...given, target: asFormerPair(given.target, given.deployments) };
  const { target, failures, now } = input;
  const wanted = targetDeployment(target, input.settings.agent);
  const deployment = ownedBy(target, input.deployments).find(({ metadata }) => metadata.name === wanted.metadata.name);
  const paced = pace(target, wanted, deployment, input.turn);
  const workload = workloadOf(deployment, input.replicaSets, input.pods);
  const pods = workload.pods.filter(isStaying);
  // What ran on a lost node says no more whether it has a session.
  const hasSession = (pod: ObservedPod) => isReady(pod) && isOnReadyNode(pod, input.nodes);
  const sessions = pods.filter(hasSession).length;
  const newest = pods.filter((pod) => isNewest(pod, workload.newestRevision));
  const generation = target.metadata.generation ?? 0;
  const isPresent = paced.isMade && isObserved(deployment) && newest.some(hasSession);
  const conditions = nextConditions(
    target.status?.conditions,
    withProgress([
      ["Ready", ofGeneration(readiness(input, deployment, { pods, sessions }), isPresent)],
      [
        "Updated",
        refused(failures) ??
          notRemoved(failures) ??
          paced.waits ??
          rolledOut(
            paced.isMade ? deployment : undefined,
            { wanted: target.spec.replicas, newest: newest.filter(hasSession).length, all: pods.length },
            podsFailing(newest) ?? deploymentFailing(deployment),
          ),
      ],
    ]),
    { now, generation },
  );
  return {
    create: [],
    apply: paced.apply,
    hold: paced.hold,
    remove: unwanted(target, input.deployments, [wanted], failures),
    status: {
      observedGeneration: generation,
      conditions,
      replicas: pods.length,
      readyReplicas: sessions,
      updatedReplicas: newest.length,
      ...fingerprintStatus(input, target.status),
      selector: selectorText(selectorOf("target", target.metadata.name)),
    },
    events: transitionEvents(target.status?.conditions, conditions),
    ...sooner(retryPause(failures), askAgain(paced) ?? fingerprintPause(input)),
  };
}

function readiness(
  { target: { spec }, failures, secret, nodes }: TargetInput,
  deployment: ObservedDeployment | undefined,
  { pods, sessions }: { pods: readonly ObservedPod[]; sessions: number },
): Verdict {
  const up = spec.replicas === 1 ? "the session" : `${sessions} of ${spec.replicas} sessions`;
  return firstObjection(
    [
      refused(failures),
      spec.replicas === 0 ? bad("ScaledToZero", "spec.replicas is 0") : undefined,
      secretUnusable(spec.secretRef.name, secret),
      sessions > 0 ? undefined : noSession(spec.proxyEndpoint, deployment, { pods, nodes }),
    ],
    good("SessionUp", `${up} with ${spec.proxyEndpoint} ${spec.replicas === 1 ? "is" : "are"} up`),
  );
}

function noSession(
  proxyEndpoint: string,
  deployment: ObservedDeployment | undefined,
  { pods, nodes }: Pick<TargetInput, "pods" | "nodes">,
): Verdict {
  const objection = podsFailing(pods) ?? deploymentFailing(deployment);
  // A pod that runs without a session for long also exceeds the deadline; what it does meanwhile says more.
  const running = pods.filter((pod) => runningContainer(pod) !== undefined);
  const reached = running.filter((pod) => isOnReadyNode(pod, nodes));
  const [lost] = running;
  if (lost !== undefined && reached.length === 0) {
    const { name } = lost.metadata;
    return bad(
      "NodeNotReady",
      `target pod ${name} is on node ${lost.spec?.nodeName}, which is not ready, and no other pod runs`,
    );
  }
  const isRunning = reached.length > 0;
  if (isRunning && (objection === undefined || objection.reason === "ProgressDeadline")) {
    return bad("Connecting", `the target pod runs but has no session with ${proxyEndpoint}; its log names the cause`);
  }
  return objection ?? bad("PodsStarting", "the target pod does not run yet");
}
