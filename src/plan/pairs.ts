import type { ProxyResource } from "../api/proxy.ts";
import type { TargetResource } from "../api/target.ts";
import type { PairStatus, TunnelResource } from "../api/tunnel.ts";
import { isApplied } from "../desired/applied.ts";
import type { DesiredObject } from "../desired/desired.ts";
import { pairName } from "../desired/names.ts";
import { pairProxy, pairTarget } from "../desired/pair.ts";
import { type ConditionType, isTrue } from "./conditions.ts";
import { encryptionStep, isRolledOut } from "./encryption.ts";
import type { TunnelInput } from "./observed.ts";
import { ownedBy } from "./ownership.ts";
import { isProblem, type Reason } from "./reasons.ts";
import { rendezvousInSteps } from "./service-steps.ts";

/** One pair of a Tunnel: what exists, what is wanted, and what it waits for. */
export interface Pair {
  index: number;
  name: string;
  proxy: ProxyResource | undefined;
  target: TargetResource | undefined;
  /** Where its Proxy can be reached, once known. */
  endpoint: string | undefined;
  wanted: readonly DesiredObject[];
  isUpToDate: boolean;
  /** Both ends carry traffic with pods of what is wanted now, as their own conditions say about that very generation. */
  servesPresent: boolean;
  /** Why it does not carry traffic; absent when it does. */
  waiting: { message: string; isProblem: boolean; isStalled?: boolean } | undefined;
  /** What the change of its encryption waits for; absent when there is none. */
  switching: string | undefined;
}

/** The pairs that the Tunnel wants, by index. */
export function pairsOf(input: TunnelInput): Pair[] {
  const proxies = byName(ownedBy(input.tunnel, input.proxies));
  const targets = byName(ownedBy(input.tunnel, input.targets));
  return Array.from({ length: input.tunnel.spec.replicas }, (_, index) => {
    const name = pairName(input.tunnel.metadata.name, index);
    return pairOf(input.tunnel, index, proxies.get(name), targets.get(name));
  });
}

export function pairStatus({ index, name, endpoint, waiting, switching }: Pair): PairStatus {
  const message = waiting?.message ?? switching;
  return {
    index,
    proxy: name,
    target: name,
    ...(endpoint !== undefined && { endpoint }),
    ready: waiting === undefined,
    ...(message !== undefined && { message }),
  };
}

function pairOf(
  tunnel: TunnelResource,
  index: number,
  proxy: ProxyResource | undefined,
  target: TargetResource | undefined,
): Pair {
  const endpoint = proxy?.status?.proxyEndpoint;
  // A Target that exists keeps the last known endpoint while its Proxy's is being changed: it may still work.
  const targetEndpoint = endpoint ?? target?.spec.proxyEndpoint;
  const encryption = encryptionStep(tunnel.spec.encryption, proxy, target);
  const fullProxy = pairProxy(tunnel, index, encryption.proxy);
  const proxyService = rendezvousInSteps(fullProxy.spec.proxyService, proxy?.spec.proxyService);
  const wantedProxy = { ...fullProxy, spec: { ...fullProxy.spec, proxyService } };
  const wantedTarget =
    targetEndpoint === undefined ? undefined : pairTarget(tunnel, index, targetEndpoint, encryption.target);
  return {
    index,
    name: pairName(tunnel.metadata.name, index),
    proxy,
    target,
    endpoint,
    wanted: wantedTarget === undefined ? [wantedProxy] : [wantedProxy, wantedTarget],
    isUpToDate:
      encryption.waits === undefined &&
      isCurrent(wantedProxy, proxy) &&
      wantedTarget !== undefined &&
      isCurrent(wantedTarget, target),
    servesPresent:
      encryption.waits === undefined &&
      serves(wantedProxy, proxy, ["Ready", "Connected"]) &&
      wantedTarget !== undefined &&
      serves(wantedTarget, target, ["Ready"]),
    waiting: waitingFor(proxy, target),
    switching: encryption.waits,
  };
}

/** Made from exactly the present wish, and rolled out as its own status says about that very generation. */
function isCurrent(wanted: DesiredObject, observed: ProxyResource | TargetResource | undefined): boolean {
  return observed !== undefined && isApplied(wanted, observed) && isRolledOut(observed);
}

function serves(
  wanted: DesiredObject,
  observed: ProxyResource | TargetResource | undefined,
  types: readonly ConditionType[],
): boolean {
  if (observed === undefined || !isApplied(wanted, observed)) return false;
  const { metadata, status } = observed;
  return types.every((type) =>
    status?.conditions.some(
      (condition) =>
        condition.type === type && condition.status === "True" && condition.observedGeneration === metadata.generation,
    ),
  );
}

/** The first thing that is missing on the way from consumer to backend. */
function waitingFor(proxy: ProxyResource | undefined, target: TargetResource | undefined): Pair["waiting"] {
  if (proxy === undefined) return { message: "its Proxy is being made", isProblem: false };
  const ofProxy = objection("Proxy", proxy, "Ready");
  if (ofProxy !== undefined) return ofProxy;
  const endpoint = proxy.status?.proxyEndpoint;
  if (endpoint === undefined) return { message: "waits for the endpoint of its Proxy", isProblem: false };
  if (target === undefined) return { message: "its Target is being made", isProblem: false };
  return objection("Target", target, "Ready") ?? objection("Proxy", proxy, "Connected");
}

function objection(kind: string, object: ProxyResource | TargetResource, type: ConditionType): Pair["waiting"] {
  const conditions = object.status?.conditions;
  if (isTrue(conditions, type)) return undefined;
  const found = conditions?.find((condition) => condition.type === type);
  const { name, generation } = object.metadata;
  if (found === undefined || found.status === "Unknown") {
    return { message: `${kind} ${name} was just made`, isProblem: false };
  }
  // What was said of an earlier generation may have been corrected.
  if (found.observedGeneration !== generation) {
    return { message: `${kind} ${name}: its latest change has not been looked at yet`, isProblem: false };
  }
  const isStalled = isTrue(conditions, "Stalled");
  return {
    message: `${kind} ${name}: ${found.reason}: ${found.message}`,
    isProblem: isProblem(found.reason as Reason),
    isStalled,
  };
}

function byName<T extends { metadata: { name: string } }>(objects: readonly T[]): Map<string, T> {
  return new Map(objects.map((object) => [object.metadata.name, object]));
}
