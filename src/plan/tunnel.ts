import type { TunnelStatus } from "../api/tunnel.ts";
import { isApplied } from "../desired/applied.ts";
import { tunnelConsumerService } from "../desired/consumer-service.ts";
import { tunnelSecretName } from "../desired/names.ts";
import { selectorText } from "../desired/pod-template.ts";
import { labels } from "../names.ts";
import {
  bad,
  firstObjection,
  good,
  isTrue,
  nextConditions,
  ofGeneration,
  transitionEvents,
  type Verdict,
} from "./conditions.ts";
import { isExcessPairOf } from "./former-pair.ts";
import type { ObservedObject, TunnelInput } from "./observed.ts";
import { planOwnSecret } from "./own-secret.ts";
import { isControlledBy, ownedBy, unwanted } from "./ownership.ts";
import { type Pair, pairStatus, pairsOf } from "./pairs.ts";
import type { DesiredObject, Plan } from "./plan.ts";
import { withProgress } from "./progress.ts";
import { isProblem, type Reason } from "./reasons.ts";
import { retryPause } from "./retry.ts";
import { inSteps } from "./service-steps.ts";
import { notRemoved, refused, secretUnusable } from "./workload-checks.ts";

/** Decides what a Tunnel needs: its Secret, the consumer Service in front of all pairs, and the pairs. */
export function planTunnel(input: TunnelInput): Plan<TunnelStatus> {
  const { tunnel, failures } = input;
  const pairs = pairsOf(input);
  const secret = planOwnSecret(tunnel, input.secret, input.freshSecret);
  const apply: DesiredObject[] = [
    ...secret.apply,
    ...inSteps([tunnelConsumerService(tunnel)], ownedBy(tunnel, input.services)),
    ...(secret.isForeign ? [] : pairs.flatMap((pair) => pair.wanted)),
  ];
  const pairObjects = secret.isForeign ? [] : [...input.proxies, ...input.targets, ...input.leftPairs];
  const status = statusOf(input, pairs);
  // What a Tunnel of this name left behind and this one does not want would go on taking a part of its consumers.
  const isTheirs = (object: ObservedObject) => isControlledBy(object, tunnel) || isExcessPairOf(tunnel, object);
  return {
    create: secret.create,
    apply,
    remove: unwanted(tunnel, [...input.services, ...pairObjects], apply, failures, isTheirs),
    status,
    events: transitionEvents(tunnel.status?.conditions, status.conditions),
    ...retryPause(failures),
  };
}

function statusOf(input: TunnelInput, pairs: readonly Pair[]): TunnelStatus {
  const { tunnel, now } = input;
  const { metadata, spec, status } = tunnel;
  const generation = metadata.generation ?? 0;
  const ready = readiness(input, pairs);
  return {
    observedGeneration: generation,
    conditions: nextConditions(
      status?.conditions,
      withProgress([
        ["Ready", ofGeneration(ready, pairs.every(servesPresent))],
        ["Available", ofGeneration(availability(input, ready, pairs), pairs.some(servesPresent))],
        ["Updated", refused(input.failures) ?? notRemoved(input.failures) ?? updated(input, pairs)],
      ]),
      { now, generation },
    ),
    consumerEndpoint: `${spec.service.name}.${metadata.namespace}.svc:${spec.service.port}`,
    replicas: ownedBy(tunnel, input.proxies).length,
    readyReplicas: pairs.filter(({ waiting }) => waiting === undefined).length,
    readyProxyReplicas: pairs.filter(({ proxy }) => isTrue(proxy?.status?.conditions, "Ready")).length,
    readyTargetReplicas: pairs.filter(({ target }) => isTrue(target?.status?.conditions, "Ready")).length,
    // Its target pods: unlike the standbys of a Proxy each of them works.
    selector: selectorText({ [labels.component]: "target", [labels.tunnel]: metadata.name }),
    replicasStatus: pairs.map(pairStatus),
  };
}

function readiness({ tunnel, secret, failures }: TunnelInput, pairs: readonly Pair[]): Verdict {
  const name = tunnelSecretName(tunnel.metadata.name);
  return firstObjection(
    [
      refused(failures),
      pairs.length === 0 ? bad("ScaledToZero", "spec.replicas is 0") : undefined,
      // A Secret that is absent is made in this very pass.
      secret === undefined ? undefined : secretUnusable(name, secret),
      pairsNotReady(pairs),
    ],
    good("AllPairsReady", pairCount(pairs)),
  );
}

const servesPresent = (pair: Pair) => pair.servesPresent;

/** Whether consumers are served at all. */
function availability(input: TunnelInput, ready: Verdict, pairs: readonly Pair[]): Verdict {
  const isServed = consumerService(input) !== undefined && pairs.some(({ waiting }) => waiting === undefined);
  return ready.status === "True" || !isServed ? ready : good("SomePairsReady", pairCount(pairs));
}

function pairsNotReady(pairs: readonly Pair[]): Verdict | undefined {
  const waiting = pairs.flatMap((pair) => (pair.waiting === undefined ? [] : [{ index: pair.index, ...pair.waiting }]));
  // The pair with a problem is the one to look at; the others may only be starting.
  const first = waiting.find(({ isProblem }) => isProblem) ?? waiting[0];
  if (first === undefined) return undefined;
  const message = `${pairCount(pairs)}; pair ${first.index}: ${first.message}`;
  return {
    ...bad(first.isProblem ? "PairsNotReady" : "PairsWaiting", message),
    isStalled: waiting.some((pair) => pair.isStalled),
  };
}

function pairCount(pairs: readonly Pair[]): string {
  const ready = pairs.filter(({ waiting }) => waiting === undefined).length;
  return pairs.length === 1 ? `${ready} of 1 pair carries traffic` : `${ready} of ${pairs.length} pairs carry traffic`;
}

/** What keeps the pairs from being changed: a problem of one of them, or that all that is left to do waits. */
function heldBack(pairs: readonly Pair[]) {
  const open = pairs.flatMap(({ index, proxy, target }) =>
    [proxy, target].flatMap((object) => {
      const updated = object?.status?.conditions.find(({ type }) => type === "Updated");
      const isPresent = updated?.observedGeneration === object?.metadata.generation;
      if (object === undefined || updated === undefined || !isPresent || updated.status === "True") return [];
      return [{ ...updated, index, name: `${object.kind} ${object.metadata.name}` }];
    }),
  );
  const waits: readonly string[] = ["WaitingForOthers", "Paused"] satisfies Reason[];
  const problem = open.find(({ reason }) => isProblem(reason as Reason));
  return problem ?? (open.every(({ reason }) => waits.includes(reason)) ? open[0] : undefined);
}

function consumerService({ tunnel, services }: TunnelInput) {
  const { name } = tunnelConsumerService(tunnel).metadata;
  return ownedBy(tunnel, services).find(({ metadata }) => metadata.name === name);
}

function updated(input: TunnelInput, pairs: readonly Pair[]): Verdict {
  const current = pairs.filter(({ isUpToDate }) => isUpToDate).length;
  if (current === pairs.length && isApplied(tunnelConsumerService(input.tunnel), consumerService(input))) {
    return good("UpToDate", "all pods and Services are up to date");
  }
  const counted = `${current} of ${pairs.length} pairs are up to date`;
  const held = heldBack(pairs);
  if (held !== undefined) {
    return bad(held.reason as Reason, `${counted}; pair ${held.index}, ${held.name}: ${held.message}`);
  }
  const switching = pairs.find((pair) => pair.switching !== undefined);
  return bad(
    "RollingOut",
    switching === undefined ? counted : `${counted}; pair ${switching.index}: ${switching.switching}`,
  );
}
