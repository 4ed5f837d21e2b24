import { consumerPort, healthPort } from "../names.ts";
import { isReady } from "../plan/pods.ts";
import { askForSamples } from "./agents.ts";
import type { Cluster, PodReply } from "./cluster.ts";
import { type ProbeFacts, type ProxyFacts, seen } from "./facts.ts";
import type { Probe } from "./paths.ts";
import { runningPods } from "./pod-checks.ts";
import { countsBy, type Samples, sumOf } from "./samples.ts";

/** Milliseconds for the whole way there and back, the backend's own time included. */
const patience = 10_000;

/** What Go's HTTP client says of an answer that is none: bytes came back, of another protocol. */
const foreignAnswer = /malformed HTTP|malformed MIME|unexpected.* protocol|server gave HTTP response/i;

/**
 * Sends `GET /` to the consumer port of a proxy pod that carries a session. Any server answers something to that, or closes: both show that
 * the bytes arrived. What the pod counts meanwhile tells a backend that hangs up from a backend that is not there.
 */
export async function probe(cluster: Cluster, namespace: string, proxies: readonly ProxyFacts[]): Promise<Probe> {
  const [candidate] = proxies.flatMap((facts) =>
    runningPods(facts)
      .filter(isReady)
      .map((pod) => ({ facts, pod: pod.metadata.name })),
  );
  if (candidate === undefined)
    return { unknown: "no proxy pod carries a session, so there is nothing to send through" };
  const { facts, pod } = candidate;
  const proxy = seen(facts.object);
  if (proxy?.spec.acceptProxyProtocol === true) {
    return {
      unknown:
        "consumers of this Proxy have to send a PROXY protocol header (acceptProxyProtocol), which the API server does not",
    };
  }
  const health = proxy?.spec.podTemplate?.healthPort ?? healthPort;
  const before = seen(await askForSamples(cluster, namespace, pod, health));
  const began = performance.now();
  const reply = await cluster.ask(namespace, pod, consumerPort, "/", patience);
  const milliseconds = Math.round(performance.now() - began);
  const after = seen(await askForSamples(cluster, namespace, pod, health));
  return {
    pod,
    milliseconds,
    ...outcomeOf(reply),
    ...(before !== undefined && after !== undefined && { counted: difference(before, after) }),
  };
}

function outcomeOf(reply: PodReply): Pick<ProbeFacts, "result" | "detail"> {
  if ("status" in reply) return { result: "answer", detail: `HTTP status ${reply.status}` };
  if ("silent" in reply) return { result: "silence", detail: reply.silent };
  if ("unknown" in reply) return { result: "impossible", detail: reply.unknown };
  return foreignAnswer.test(reply.cut)
    ? { result: "answer", detail: `not HTTP (${reply.cut})` }
    : { result: "reset", detail: reply.cut };
}

function difference(before: Samples, after: Samples): NonNullable<ProbeFacts["counted"]> {
  const grown = (name: string, labels?: Record<string, string>) =>
    sumOf(after, name, labels) - sumOf(before, name, labels);
  const earlier = countsBy(before, "netaminity_streams_total", "result");
  const results = [...countsBy(after, "netaminity_streams_total", "result")].map(
    ([result, count]) => [result, count - (earlier.get(result) ?? 0)] as const,
  );
  return {
    started: grown("netaminity_stream_start_seconds_count"),
    results: new Map(results.filter(([, count]) => count > 0)),
    toBackend: grown("netaminity_stream_bytes_total", { direction: "to_backend" }),
    toConsumer: grown("netaminity_stream_bytes_total", { direction: "to_consumer" }),
  };
}
