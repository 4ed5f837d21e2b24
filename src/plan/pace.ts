import type { ProxyResource } from "../api/proxy.ts";
import type { TargetResource } from "../api/target.ts";
import { isApplied } from "../desired/applied.ts";
import {
  type AgentDeployment,
  type AgentSettings,
  podsAnnotation,
  rolloutAnnotation,
  wishAnnotation,
} from "../desired/deployment.ts";
import { proxyDeployment } from "../desired/proxy-deployment.ts";
import { targetDeployment } from "../desired/target-deployment.ts";
import { bad, type Verdict } from "./conditions.ts";
import { asFormerPair } from "./former-pair.ts";
import type { ObservedDeployment, Turn } from "./observed.ts";
import { ownedBy } from "./ownership.ts";
import type { DesiredObject } from "./plan.ts";
import { isObserved } from "./rollout.ts";

/** What is done with a Deployment in this pass. */
export interface Paced {
  apply: readonly DesiredObject[];
  hold: readonly DesiredObject[];
  /** The observed Deployment is made as it may be made now. */
  isMade: boolean;
  /** Why its pods are not changed though others are wanted. */
  waits: Verdict | undefined;
}

/** Milliseconds after which an object that waits asks again; it is woken sooner when a place becomes free. */
const waitPause = 30_000;

/**
 * Decides whether running pods may be changed now. What the user changed in this very object goes at once; what the operator's settings or version
 * changed waits for its turn; nothing changes a paused object's pods. A Deployment that is not there is always made.
 */
export function pace(
  { spec }: ProxyResource | TargetResource,
  wanted: AgentDeployment,
  observed: ObservedDeployment | undefined,
  turn: Turn | undefined,
): Paced {
  if (observed === undefined) {
    return { apply: [wanted], hold: [], isMade: false, waits: undefined };
  }
  const isSame = hasSame(podsAnnotation, wanted, observed);
  const waits = isSame ? undefined : whyWait(spec.paused === true, isOwnChange(wanted, observed), turn);
  if (spec.paused === true || waits !== undefined) {
    return { apply: [], hold: [partWithoutPods(wanted)], isMade: isSame, waits };
  }
  const holdsPlace = isSame ? isTaken(observed) : turn?.kind === "granted";
  const marked = holdsPlace ? withMark(wanted) : wanted;
  return { apply: [marked], hold: [], isMade: isApplied(marked, observed), waits };
}

/** When to ask again for a turn. */
export function askAgain({ waits }: Paced): number | undefined {
  return waits?.reason === "WaitingForOthers" ? waitPause : undefined;
}

function whyWait(isPaused: boolean, isOwn: boolean, turn: Turn | undefined): Verdict | undefined {
  if (isPaused) return bad("Paused", "spec.paused is set, so the pods stay as they are though others are wanted");
  return !isOwn && turn?.kind === "wait" ? bad("WaitingForOthers", turn.message) : undefined;
}

/** How an object stands in the wave of changes that come from the operator. */
export interface Stand {
  /** Its pods are to be changed because of the operator's settings or version. */
  isOutdated: boolean;
  /** Its pods cannot run: to change them takes nothing from anybody. */
  isBroken: boolean;
  /** A change of its pods is not finished, or ended with pods that cannot run. */
  holdsPlace: boolean;
}

export const atRest: Stand = { isOutdated: false, isBroken: false, holdsPlace: false };

/** From observed objects alone, so that it is the same after a restart of the operator. */
export function standOf(
  owner: ProxyResource | TargetResource,
  deployments: readonly ObservedDeployment[],
  agent: AgentSettings,
): Stand {
  if (owner.spec.paused === true || owner.metadata.deletionTimestamp !== undefined) return atRest;
  const wanted = wantedFor(asFormerPair(owner, deployments), agent);
  const observed = ownedBy(owner, deployments).find(({ metadata }) => metadata.name === wanted.metadata.name);
  if (observed === undefined) return atRest;
  const isSame = hasSame(podsAnnotation, wanted, observed);
  const isBroken = cannotRun(owner);
  return {
    isOutdated: !isSame && !isOwnChange(wanted, observed),
    isBroken,
    holdsPlace: isTaken(observed) && (!isFinished(observed) || (isSame && isBroken)),
  };
}

function wantedFor(owner: ProxyResource | TargetResource, agent: AgentSettings): AgentDeployment {
  return owner.kind === "Proxy" ? proxyDeployment(owner, agent) : targetDeployment(owner, agent);
}

/** The pods of older revisions have gone, which a Deployment lets happen only when newer ones are ready. */
function isFinished(deployment: ObservedDeployment): boolean {
  const { status } = deployment;
  return isObserved(deployment) && (status?.replicas ?? 0) <= (status?.updatedReplicas ?? 0);
}

function cannotRun({ status }: ProxyResource | TargetResource): boolean {
  const ready = status?.conditions.find(({ type }) => type === "Ready");
  return ready?.status === "False" && (ready.reason === "PodsFailing" || ready.reason === "ProgressDeadline");
}

/** A Deployment of version 0.1 does not tell what it was made from: there every difference counts as the operator's. */
function isOwnChange(wanted: AgentDeployment, observed: ObservedDeployment): boolean {
  return observed.metadata.annotations?.[wishAnnotation] !== undefined && !hasSame(wishAnnotation, wanted, observed);
}

function hasSame(annotation: string, wanted: AgentDeployment, observed: ObservedDeployment): boolean {
  return observed.metadata.annotations?.[annotation] === wanted.metadata.annotations[annotation];
}

const isTaken = ({ metadata }: ObservedDeployment) => metadata.annotations?.[rolloutAnnotation] === "taken";

function withMark(wanted: AgentDeployment): AgentDeployment {
  const annotations = { ...wanted.metadata.annotations, [rolloutAnnotation]: "taken" };
  return { ...wanted, metadata: { ...wanted.metadata, annotations } };
}

/** What a change of `replicas` needs. */
function partWithoutPods({
  apiVersion,
  kind,
  metadata: { name, namespace },
  spec,
}: AgentDeployment): DesiredObject & Pick<AgentDeployment, "spec"> {
  const { replicas, strategy, progressDeadlineSeconds } = spec;
  const rollout = { replicas, strategy, progressDeadlineSeconds } as AgentDeployment["spec"];
  return { apiVersion, kind, metadata: { name, namespace }, spec: rollout };
}
