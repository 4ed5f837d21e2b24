import type { ObjectMeta } from "../api/resource.ts";
import type { TunnelResource } from "../api/tunnel.ts";
import { controllerOf } from "../plan/ownership.ts";
import { isReady } from "../plan/pods.ts";
import { broken, type Check, deciding, ok, remark, unknown } from "./check.ts";
import {
  type AgentFacts,
  type Conditioned,
  conditionOf,
  type ProxyFacts,
  seen,
  type TargetFacts,
  type WorkloadFacts,
} from "./facts.ts";
import { runningPods } from "./pod-checks.ts";
import { sumOf } from "./samples.ts";

const link = "encryption";

/** What plain means, by hand and in a cluster. */
export const plainMeans = "plain: whoever carries the packets can read and change them";
/** When a person may leave it so. */
export const unless = "unless every link in between is your own, or already encrypted below";

/** An object whose pods shall encrypt or need not. */
type Wishing = Conditioned & {
  kind: string;
  metadata: Pick<ObjectMeta, "name" | "generation" | "ownerReferences">;
  spec: { encryption: "off" | "optional" | "required" };
  status?: { observedGeneration: number };
};

/** Whether the sessions of a Proxy or a Target that stands alone are encrypted. */
export function encryptionCheck(facts: ProxyFacts | TargetFacts): Check | undefined {
  return sessionsCheck([facts], seen<Wishing>(facts.object));
}

/** Whether those of a Tunnel's pair are, and whether its two sides can meet at all. */
export function pairEncryptionCheck(proxy: ProxyFacts, target: TargetFacts, tunnel: TunnelResource): Check | undefined {
  if (seen(proxy.object)?.spec.encryption === "required" && seen(target.object)?.spec.encryption === "off") {
    return broken(
      link,
      "the Proxy requires encryption, but the Target does not encrypt",
      "Both follow spec.encryption of the Tunnel: set it there alone, and see that the operator runs.",
    );
  }
  return sessionsCheck([proxy, target], tunnel);
}

/** What is really so, in the agents' own numbers; nothing where there is no session. */
function sessionsCheck(sides: readonly WorkloadFacts[], object: Wishing | undefined): Check | undefined {
  const agents = sides.flatMap(readyAgents);
  const withSession = agents.filter((agent) => count(agent, "sessions") > 0);
  if (withSession.length === 0) {
    return agents.some(({ samples }) => !("found" in samples))
      ? unknown(link, "whether the session is encrypted: the pods cannot be asked")
      : undefined;
  }
  const plain = withSession.find((agent) => count(agent, "sessions_encrypted") < count(agent, "sessions"));
  if (plain === undefined) return ok(link, `${withSession[0]?.pod}: the session is encrypted`);
  if (object?.spec.encryption === "required") return plainThoughRequired(plain.pod, object);
  return isWithinOneNode(sides)
    ? ok(link, `${plain.pod}: ${howMany(plain)} plain, and its packets never leave their node`)
    : remark(link, `${plain.pod}: ${howMany(plain)} ${plainMeans}`, `${howTo(object)}, ${unless}.`);
}

function howMany(agent: AgentFacts): string {
  const sessions = count(agent, "sessions");
  const plain = sessions - count(agent, "sessions_encrypted");
  return sessions === 1 ? "the session is" : `${plain} of ${sessions} sessions are`;
}

function plainThoughRequired(pod: string, object: Wishing): Check {
  const { metadata, status } = object;
  const evidence = `${pod}: a session is plain though ${object.kind} ${metadata.name} requires encryption`;
  const updated = conditionOf(object, "Updated");
  if (updated?.status === "True" && status?.observedGeneration === metadata.generation) {
    return broken(
      link,
      evidence,
      "Its pods do not run what is asked for: compare their image with the operator's version.",
    );
  }
  const how = updated === undefined ? "" : `; the change is being made: ${updated.message}`;
  return deciding(
    unknown(link, `${evidence}${how}`, "Wait until it is Updated; when it lasts, do what the message says."),
  );
}

function howTo(object: Wishing | undefined): string {
  const owner = object === undefined ? undefined : controllerOf(object);
  const tunnel = object?.kind === "Tunnel" ? object.metadata.name : owner?.kind === "Tunnel" ? owner.name : undefined;
  return tunnel === undefined
    ? "Set spec.encryption to required, first of the Target and then, when it is Updated, of the Proxy"
    : `Set spec.encryption of Tunnel ${tunnel} to required`;
}

/** Agents of the pods that Kubernetes calls ready: those with a session. */
function readyAgents(facts: WorkloadFacts): AgentFacts[] {
  const names = new Set(readyPods(facts).map(({ metadata }) => metadata.name));
  return facts.agents.filter(({ pod }) => names.has(pod));
}

const readyPods = (facts: WorkloadFacts) => runningPods(facts).filter(isReady);

/** Only for a pair: of one that stands alone the other side is elsewhere. */
function isWithinOneNode(sides: readonly WorkloadFacts[]): boolean {
  const nodes = sides.flatMap((side) => readyPods(side).map(({ spec }) => spec?.nodeName));
  return sides.length > 1 && nodes[0] !== undefined && nodes.every((node) => node === nodes[0]);
}

/** An agent older than encryption does not know the second number, and encrypts nothing. */
const count = ({ samples }: AgentFacts, name: "sessions" | "sessions_encrypted"): number =>
  sumOf(seen(samples) ?? [], `netaminity_${name}`);
