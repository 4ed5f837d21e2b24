import { broken, type Check, deciding, ok, unknown } from "./check.ts";
import { type ProbeFacts, seen, type TargetFacts } from "./facts.ts";
import { countsBy, type Sample, sumOf } from "./samples.ts";

/** What a person does about each way in which a backend is missed (label `result` of `netaminity_backend_dials_total`). */
const advice: Readonly<Record<string, string>> = {
  refused: "Nothing listens there: check spec.endpoint, and that the backend runs.",
  timeout: "The backend does not answer: check firewalls and network policies between the target pod and it.",
  unreachable: "There is no way from the target pod to the backend: check the address and the routes.",
  unresolved: "The name does not resolve in the target pod: correct spec.endpoint, or the DNS of that cluster.",
};
const tryIt = "--probe tries it now.";
const notArrived =
  "The proxy has not seen it: a NetworkPolicy (networkPolicy of the Tunnel or Proxy) may keep the API server from its consumer port.";
const elsewhere = "Look at the target pod's log and at the backend.";

/** What the target's dials of its backend say so far. They are history: only a probe tries now. */
export function backendCheck({ agents, object }: TargetFacts): Check {
  const endpoint = seen(object)?.spec.endpoint ?? "the backend";
  const known: Sample[] = agents.flatMap(({ samples }) => seen(samples) ?? []);
  if (known.length === 0) {
    return unknown("backend", `whether ${endpoint} answers: the target pod cannot be asked`, tryIt);
  }
  const dials = countsBy(known, "netaminity_backend_dials_total", "result");
  const connected = dials.get("connected") ?? 0;
  const failures = [...dials].filter(([result]) => result !== "connected").toSorted(([, a], [, b]) => b - a);
  const failed = failures.reduce((total, [, count]) => total + count, 0);
  if (connected + failed === 0) {
    return unknown("backend", `no consumer has asked for ${endpoint} since the target pod started`, tryIt);
  }
  if (failed === 0) return ok("backend", `${endpoint}: ${connected} connections, none failed`);
  const words = failures.map(([result, count]) => `${result} ${count}`).join(", ");
  const next = advice[failures[0]?.[0] ?? ""] ?? elsewhere;
  // Agents of earlier versions do not say how the latest one ended.
  if (connected > 0 && sumOf(known, "netaminity_backend_failing") > 0) {
    return broken(
      "backend",
      `${endpoint}: the latest connection failed, as ${failed} of ${connected + failed} (${words})`,
      next,
    );
  }
  return connected === 0
    ? broken("backend", `${endpoint}: none of ${failed} connections came about (${words})`, next)
    : unknown(
        "backend",
        `${endpoint}: ${failed} of ${connected + failed} connections failed (${words})`,
        `${tryIt} ${next}`,
      );
}

/** Results of streams that say which link the probe's own connection failed at, for the label `result` of `netaminity_streams_total`. */
const streamAdvice: Readonly<Record<string, string>> = {
  ...advice,
  no_session: "No target was attached at that moment: see session.",
  overload: "The proxy has too many consumers that wait: see the target's log.",
  lost: "The connection between target and proxy broke: try again, and look at both logs.",
};

/** What came of the request that was sent through the tunnel. */
export function probeCheck(probe: ProbeFacts | { unknown: string }): Check {
  if ("unknown" in probe) return deciding(unknown("probe", probe.unknown));
  const { pod, milliseconds, result, detail, counted } = probe;
  const carried =
    counted === undefined
      ? ""
      : `; ${pod} carried ${counted.toBackend} bytes to the backend and ${counted.toConsumer} back`;
  switch (result) {
    case "answer":
      return deciding(
        ok("probe", `an HTTP request through ${pod} was answered in ${milliseconds} ms: ${detail}${carried}`),
      );
    case "reset": {
      const failure = [...(counted?.results ?? [])].find(([word]) => streamAdvice[word] !== undefined)?.[0];
      if (failure === undefined && (counted?.started ?? 0) > 0) {
        return deciding(
          ok(
            "probe",
            `through ${pod} the backend was reached; it closed the connection without an answer to HTTP (${detail})${carried}`,
          ),
        );
      }
      const why = failure === undefined ? detail : `${detail}; the proxy counted: ${failure}`;
      return broken(
        "probe",
        `a request through ${pod} was cut after ${milliseconds} ms: ${why}`,
        streamAdvice[failure ?? ""] ?? elsewhere,
      );
    }
    case "silence":
      return (counted?.started ?? 0) > 0
        ? deciding(
            ok(
              "probe",
              `through ${pod} the backend was reached; it does not answer HTTP within ${milliseconds} ms${carried}`,
            ),
          )
        : deciding(
            unknown(
              "probe",
              `a request through ${pod} had no answer within ${milliseconds} ms${carried}`,
              counted?.results.size === 0 && counted.toBackend === 0 ? notArrived : elsewhere,
            ),
          );
    case "impossible":
      return deciding(unknown("probe", detail));
  }
}
