import { agentContainer } from "../desired/deployment.ts";
import { healthPort as defaultHealthPort } from "../names.ts";
import type { ObservedPod } from "../plan/observed.ts";
import { isReady } from "../plan/pods.ts";
import type { Cluster, PodReply } from "./cluster.ts";
import type { AgentFacts, Found } from "./facts.ts";
import { readSamples, type Samples } from "./samples.ts";

/** Milliseconds that one agent has to answer. A pod that the API server does not reach takes all of them. */
const patience = 4000;
/** Pods of one workload that are asked, the first ones. */
const maxAsked = 8;
const logLines = 60;

/** Asks each running pod for its readiness and metrics, and reads the log of those that are not ready. */
export async function askAgents(
  cluster: Cluster,
  namespace: string,
  pods: readonly ObservedPod[],
  healthPort: number | undefined,
): Promise<AgentFacts[]> {
  return await Promise.all(
    pods.slice(0, maxAsked).map(async (pod) => {
      const { name } = pod.metadata;
      const port = healthPort ?? defaultHealthPort;
      const [readiness, samples, warnings] = await Promise.all([
        cluster.ask(namespace, name, port, "/readyz", patience),
        askForSamples(cluster, namespace, name, port),
        isReady(pod) ? { unknown: "the log was not read" } : warningsOf(cluster, namespace, name),
      ]);
      return { pod: name, readiness: textOf(readiness, [200, 503]), samples, warnings };
    }),
  );
}

export async function askForSamples(
  cluster: Pick<Cluster, "ask">,
  namespace: string,
  pod: string,
  port: number,
): Promise<Found<Samples>> {
  const text = textOf(await cluster.ask(namespace, pod, port, "/metrics", patience), [200]);
  return "found" in text ? { found: readSamples(text.found) } : text;
}

/** An answer with another status is not the agent's: something in between may answer in its place. */
function textOf(reply: PodReply, statuses: readonly number[]): Found<string> {
  if ("cut" in reply) return { unknown: reply.cut };
  if ("silent" in reply) return { unknown: reply.silent };
  if ("unknown" in reply) return { unknown: reply.unknown };
  const { status, body } = reply;
  return statuses.includes(status)
    ? { found: body.trim() }
    : { unknown: `the pod's port answers with HTTP status ${status}` };
}

async function warningsOf(cluster: Cluster, namespace: string, pod: string): Promise<Found<readonly string[]>> {
  const lines = await cluster.log(namespace, pod, agentContainer, logLines);
  return "found" in lines ? { found: lines.found.flatMap((line) => warningIn(line) ?? []) } : lines;
}

/** The line without its time when it is of level warn or error; both forms of the log are read. */
export function warningIn(line: string): string | undefined {
  if (!line.startsWith("{")) return /^\S+ (?:warn|error) +(.+)$/.exec(line)?.[1];
  try {
    const { level, message, time: _, ...fields } = JSON.parse(line) as Record<string, unknown>;
    if (level !== "warn" && level !== "error") return undefined;
    return [message, ...Object.entries(fields).map(([key, value]) => `${key}=${value}`)].join(" ");
  } catch {
    return undefined;
  }
}
