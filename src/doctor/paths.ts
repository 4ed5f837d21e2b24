import type { TunnelResource } from "../api/tunnel.ts";
import { proxyDeploymentName, rendezvousServiceName, secretNameOf, tunnelSecretName } from "../desired/names.ts";
import { reasons } from "../plan/reasons.ts";
import { backendCheck, probeCheck } from "./backend-checks.ts";
import { broken, type Check, ok, unknown } from "./check.ts";
import { encryptionCheck, pairEncryptionCheck } from "./encryption-checks.ts";
import {
  conditionOf,
  type Found,
  type ProbeFacts,
  type ProxyFacts,
  seen,
  type TargetFacts,
  type TunnelFacts,
} from "./facts.ts";
import { type AnyOwn, changeCheck, isOneOf, objectCheck, secretCheck, serviceCheck } from "./object-checks.ts";
import { nodesCheck, podsCheck } from "./pod-checks.ts";
import { proxySessionCheck, targetSessionCheck } from "./session-checks.ts";

export type Probe = ProbeFacts | { unknown: string };

/** The links from a Proxy to its Target, in the order in which they depend on each other. */
export function proxyPath(facts: ProxyFacts, probe: Probe | undefined): Check[] {
  const object = objectCheck("object", `Proxy ${facts.name}`, facts.object);
  const proxy = seen(facts.object);
  if (proxy === undefined) return [object];
  const checks = present(
    object,
    secretCheck(secretNameOf(proxy), facts.secret, conditionOf(proxy, "Ready")),
    podsCheck("pods", facts),
    nodesCheck("nodes", facts),
    rendezvousCheck(facts),
    proxySessionCheck(facts),
    changeCheck("change", proxy),
    encryptionCheck(facts),
    serviceCheck(proxy.spec.service?.name, facts.consumers),
  );
  return withProbe(checks, probe);
}

/** The links from a Target to its Proxy and to the backend. */
export function targetPath(facts: TargetFacts, probe: Probe | undefined): Check[] {
  const object = objectCheck("object", `Target ${facts.name}`, facts.object);
  const target = seen(facts.object);
  if (target === undefined) return [object];
  const checks = present(
    object,
    secretCheck(target.spec.secretRef.name, facts.secret, conditionOf(target, "Ready")),
    podsCheck("pods", facts),
    nodesCheck("nodes", facts),
    targetSessionCheck(facts),
    changeCheck("change", target),
    encryptionCheck(facts),
    backendCheck(facts),
  );
  return withProbe(checks, probe);
}

/** A Tunnel: what all pairs share, then the pair that is most worth looking at in full and the others in a line each. */
export function tunnelPath(name: string, facts: TunnelFacts, probe: Probe | undefined): Check[] {
  const tunnel = seen(facts.object);
  const object = objectCheck("object", `Tunnel ${name}`, facts.object);
  if (tunnel === undefined) return [object];
  const pairs = facts.pairs.map(({ proxy, target }) => pairPath(proxy, target, tunnel));
  const shown = Math.max(0, pairs.findIndex(isBroken));
  const checks = present(
    object,
    secretCheck(tunnelSecretName(name), facts.secret, conditionOf(tunnel, "Ready")),
    ...pairs.flatMap((checks, index) =>
      index === shown ? checks.map((check) => inPair(check, index, pairs.length)) : [summary(checks, index)],
    ),
    serviceCheck(tunnel.spec.service.name, facts.consumers),
  );
  return withProbe(checks, probe);
}

/** With the probe's own link at the end; what it answers needs no advice to ask for it. */
function withProbe(checks: readonly Check[], probe: Probe | undefined): Check[] {
  if (probe === undefined) return [...checks];
  const told = checks.map((check) => {
    const { next: _, ...rest } = check;
    return check.link.endsWith("backend") && check.outcome === "unknown" ? rest : check;
  });
  return [...told, probeCheck(probe)];
}

function pairPath(proxy: ProxyFacts, target: TargetFacts, tunnel: TunnelResource): Check[] {
  const [proxyObject, targetObject] = [ownCheck("proxy", proxy), ownCheck("target", target)];
  return present(
    proxyObject,
    ...("found" in proxy.object
      ? [podsCheck("proxy pods", proxy), nodesCheck("proxy nodes", proxy), rendezvousCheck(proxy)]
      : []),
    targetObject,
    ...("found" in target.object ? [podsCheck("target pods", target), nodesCheck("target nodes", target)] : []),
    ...("found" in target.object ? pairSession(proxy, target, tunnel) : []),
    changeCheck("proxy change", seen(proxy.object)),
    changeCheck("target change", seen(target.object)),
    ...("found" in target.object ? [backendCheck(target)] : []),
  );
}

/** Two sides that cannot meet are said to be so before what follows from it, which is that there is no session. */
function pairSession(proxy: ProxyFacts, target: TargetFacts, tunnel: TunnelResource): (Check | undefined)[] {
  const ofTarget = renamed("target session", targetSessionCheck(target));
  if (!("found" in proxy.object)) return [ofTarget];
  const sessions = [ofTarget, renamed("proxy session", proxySessionCheck(proxy))];
  const encryption = pairEncryptionCheck(proxy, target, tunnel);
  return encryption?.outcome === "broken" ? [encryption, ...sessions] : [...sessions, encryption];
}

function ownCheck(link: "proxy" | "target", { name, object }: { name: string; object: Found<AnyOwn> }): Check {
  return objectCheck(link, `${link === "proxy" ? "Proxy" : "Target"} ${name}`, object);
}

function inPair(check: Check, index: number, pairs: number): Check {
  return pairs === 1 ? check : { ...check, link: `pair ${index} ${check.link}` };
}

const renamed = (link: string, check: Check): Check => ({ ...check, link });

const isBroken = (checks: readonly Check[]): boolean => checks.some(({ outcome }) => outcome === "broken");

/** A pair in one line: its first broken link, else its session. */
function summary(checks: readonly Check[], index: number): Check {
  const worst =
    checks.find(({ outcome }) => outcome === "broken") ??
    checks.find(({ decides, outcome }) => decides === true && outcome !== "ok") ??
    checks.find(({ decides }) => decides === true);
  if (worst === undefined) return unknown(`pair ${index}`, "nothing is known about it");
  return { ...worst, link: `pair ${index}`, evidence: `${worst.link}: ${worst.evidence}` };
}

/** Whether the rendezvous has an address for Targets and leads to a proxy pod. */
function rendezvousCheck({ name, object, rendezvous }: ProxyFacts): Check {
  const proxy = seen(object);
  const endpoint = proxy?.status?.proxyEndpoint;
  const ready = proxy === undefined ? undefined : conditionOf(proxy, "Ready");
  if (endpoint === undefined) {
    return ready !== undefined && isOneOf(ready.reason, ["ProxyHostMissing", "EndpointPending"])
      ? broken("rendezvous", ready.message, reasons[ready.reason].todo)
      : broken(
          "rendezvous",
          "the Proxy has no endpoint for Targets yet",
          "See the links before, and the Proxy's condition Ready.",
        );
  }
  if ("unknown" in rendezvous) return unknown("rendezvous", `${endpoint}: ${rendezvous.unknown}`);
  const endpoints = (seen(rendezvous) ?? []).flatMap((slice) => slice.endpoints ?? []);
  const [first] = endpoints;
  return first === undefined
    ? broken(
        "rendezvous",
        `${endpoint}: Service ${rendezvousServiceName(name)} leads to no pod`,
        `The operator puts a live proxy pod there: see pods (Deployment ${proxyDeploymentName(name)}), and that the operator runs.`,
      )
    : ok("rendezvous", `${endpoint} leads to ${first.targetRef?.name ?? first.addresses.join(", ")}`);
}

function present(...checks: readonly (Check | undefined)[]): Check[] {
  return checks.filter((check) => check !== undefined);
}
