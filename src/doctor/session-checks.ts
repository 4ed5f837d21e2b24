import type { ProxyResource } from "../api/proxy.ts";
import type { TargetResource } from "../api/target.ts";
import { isReady } from "../plan/pods.ts";
import { type Reason, reasons } from "../plan/reasons.ts";
import { broken, type Check, deciding, ok, unknown } from "./check.ts";
import {
  type AgentFacts,
  conditionOf,
  type Found,
  type ProxyFacts,
  seen,
  type TargetFacts,
  type WorkloadFacts,
} from "./facts.ts";
import { runningPods } from "./pod-checks.ts";
import { countsBy, sumOf } from "./samples.ts";

/** What a person does about each way in which a target's attempts end (label `reason` of `netaminity_reconnects_total`). */
const advice: Readonly<Record<string, string>> = {
  unresolved: "The name in spec.proxyEndpoint does not resolve on the target's side: correct it, or the DNS there.",
  refused:
    "Nothing listens at spec.proxyEndpoint: compare it with the Proxy's status.proxyEndpoint, and see whether a proxy pod is active.",
  timeout:
    "No answer from spec.proxyEndpoint: a firewall or a route on the way from the target's node drops the packets.",
  unreachable: "There is no way to spec.proxyEndpoint from the target's node: look at routes and firewalls.",
  rejected: "The secrets of both ends differ: set the key secret to the same value on both sides.",
  encryption:
    "Only one end encrypts: where the Proxy's spec.encryption is required, the Target's must be too; where the Target's is, the proxy must be of a version that can.",
  handshake:
    "What answers at spec.proxyEndpoint is no netaminity proxy, or the connection breaks early: check the port and what is in between.",
};

/** Whether a target is attached to one of the Proxy's pods. */
export function proxySessionCheck(facts: ProxyFacts): Check {
  const agent = serving(facts);
  if (agent !== undefined) return deciding(ok("session", sessionText(agent.pod, agent)));
  if ("unknown" in facts.pods) return sessionBySay(facts.pods.unknown, facts.object, "Connected");
  const running = runningPods(facts);
  if (running.length === 0) return deciding(unknown("session", "no proxy pod runs"));
  const refused = lastWarning(facts.agents, /authentication failed/);
  if (refused !== undefined)
    return broken("session", `no target is attached; a proxy pod logged: ${refused}`, advice.rejected ?? "");
  const plain = lastWarning(facts.agents, /encrypt/);
  if (plain !== undefined)
    return broken("session", `no target is attached; a proxy pod logged: ${plain}`, advice.encryption ?? "");
  const proxy = seen(facts.object);
  const connected = proxy === undefined ? undefined : conditionOf(proxy, "Connected");
  return broken(
    "session",
    connected?.status === "False" ? connected.message : "no target is attached to any proxy pod",
    reasons.WaitingForTarget.todo,
  );
}

/** Whether the Target's pod has a session; else why the last attempts failed. */
export function targetSessionCheck(facts: TargetFacts): Check {
  const agent = serving(facts);
  if (agent !== undefined) return deciding(ok("session", sessionText(agent.pod, agent)));
  if ("unknown" in facts.pods) return sessionBySay(facts.pods.unknown, facts.object, "Ready");
  if (runningPods(facts).length === 0) return deciding(unknown("session", "no target pod runs"));
  const target = seen(facts.object);
  const ready = target === undefined ? undefined : conditionOf(target, "Ready");
  if (ready?.reason === ("NodeNotReady" satisfies Reason)) {
    return broken("session", ready.message, reasons.NodeNotReady.todo);
  }
  const [first] = facts.agents;
  const readiness = first === undefined ? undefined : seen(first.readiness);
  const warning = lastWarning(facts.agents, /the proxy|session/);
  const evidence = readiness ?? warning ?? "the target pod runs but is not ready: it has no session";
  const suspicion = lastWarning(facts.agents, /suspicion=/);
  const seenHere =
    suspicion === undefined || evidence === suspicion ? evidence : `${evidence}; it logged: ${suspicion}`;
  const text = first === undefined ? seenHere : `${first.pod}: ${seenHere}`;
  return broken("session", text, adviceFor(evidence, facts.agents));
}

/** Without the right to look at pods the operator's word is all there is. */
function sessionBySay(why: string, object: Found<ProxyResource | TargetResource>, type: "Ready" | "Connected"): Check {
  const said = seen(object);
  const condition = said === undefined ? undefined : conditionOf(said, type);
  if (condition === undefined) return deciding(unknown("session", `pods: ${why}`));
  const text = `the status says ${condition.reason}: ${condition.message} (pods: ${why})`;
  return condition.status === "False"
    ? broken("session", text, reasons[condition.reason as Reason]?.todo ?? reasons.Connecting.todo)
    : deciding(unknown("session", text));
}

/** The agent that carries a session. Kubernetes' word counts where the agent cannot be asked. */
function serving(facts: WorkloadFacts): AgentFacts | undefined {
  const ready = runningPods(facts).filter(isReady);
  const agents = facts.agents.filter(({ pod }) => ready.some(({ metadata }) => metadata.name === pod));
  return (
    agents.find(({ samples }) => sumOf(seen(samples) ?? [], "netaminity_sessions") > 0) ?? agents.find(cannotBeAsked)
  );
}

const cannotBeAsked = ({ samples }: AgentFacts): boolean => !("found" in samples);

function sessionText(pod: string, { samples }: AgentFacts): string {
  const known = seen(samples);
  if (known === undefined) return `${pod} is ready: it carries a session`;
  const count = (name: string) => sumOf(known, `netaminity_${name}`);
  const sessions = count("sessions");
  const parts = [
    `${sessions} ${sessions === 1 ? "session" : "sessions"}`,
    `${count("streams_open")} ${count("streams_open") === 1 ? "stream" : "streams"} open`,
  ];
  if (count("session_rtt_seconds") > 0) parts.push(`round trip ${(count("session_rtt_seconds") * 1000).toFixed(1)} ms`);
  return `${pod} carries ${parts.join(", ")}`;
}

function lastWarning(agents: readonly AgentFacts[], about: RegExp): string | undefined {
  return agents
    .flatMap(({ warnings }) => seen(warnings) ?? [])
    .filter((line) => about.test(line))
    .at(-1);
}

/** Words by which the agents tell the latest cause, as in src/agent; the first that fits. */
const presentCauses: readonly (readonly [RegExp, string])[] = [
  [/no netaminity proxy/, "handshake"],
  [/encrypt|\bTLS\b/i, "encryption"],
  [/secret|the (proxy|server) says/, "rejected"],
  [/refused the connection/, "refused"],
  [/resolve|name server/, "unresolved"],
  [/did(?: not|n't) answer|no answer/, "timeout"],
  [/cannot be reached/, "unreachable"],
];

/** By the present cause, which the target's own words tell; else by the reason that most attempts ended with since it started. */
function adviceFor(evidence: string, agents: readonly AgentFacts[]): string {
  const present = presentCauses.find(([words]) => words.test(evidence))?.[1];
  if (present !== undefined) return advice[present] ?? reasons.Connecting.todo;
  const counts = agents.flatMap(({ samples }) => [
    ...countsBy(seen(samples) ?? [], "netaminity_reconnects_total", "reason"),
  ]);
  const [most] = counts.toSorted(([, a], [, b]) => b - a);
  return advice[most?.[0] ?? ""] ?? reasons.Connecting.todo;
}
