import { expect, test } from "bun:test";
import { probeCheck } from "../../../src/doctor/backend-checks.ts";
import type { ProbeFacts } from "../../../src/doctor/facts.ts";

const counted = (started: number, results: [string, number][] = []) => ({
  counted: { started, results: new Map(results), toBackend: 80, toConsumer: 0 },
});

test.each<[string, Partial<ProbeFacts>, string, string]>([
  [
    "an answer",
    { result: "answer", detail: "HTTP status 200" },
    "ok",
    "an HTTP request through p was answered in 12 ms: HTTP status 200",
  ],
  [
    "a backend that hangs up",
    { result: "reset", detail: "EOF", ...counted(1, [["completed", 1]]) },
    "ok",
    "through p the backend was reached; it closed the connection without an answer to HTTP (EOF); p carried 80 bytes to the backend and 0 back",
  ],
  [
    "a backend that refuses",
    { result: "reset", detail: "connection reset by peer", ...counted(0, [["refused", 1]]) },
    "broken",
    "a request through p was cut after 12 ms: connection reset by peer; the proxy counted: refused",
  ],
  [
    "a cut that nobody can explain",
    { result: "reset", detail: "EOF" },
    "broken",
    "a request through p was cut after 12 ms: EOF",
  ],
  [
    "a backend that waits for its own protocol",
    { result: "silence", detail: "no answer within 10000 ms", ...counted(1) },
    "ok",
    "through p the backend was reached; it does not answer HTTP within 12 ms; p carried 80 bytes to the backend and 0 back",
  ],
  [
    "silence without a start",
    { result: "silence", detail: "", ...counted(0) },
    "unknown",
    "a request through p had no answer within 12 ms; p carried 80 bytes to the backend and 0 back",
  ],
  [
    "no right to ask",
    { result: "impossible", detail: "not allowed: pods/proxy" },
    "unknown",
    "not allowed: pods/proxy",
  ],
])("%s", (_, given, outcome, evidence) => {
  const check = probeCheck({ pod: "p", milliseconds: 12, result: "answer", detail: "", ...given });
  expect([check.outcome, check.evidence]).toEqual([outcome, evidence] as never);
});

test("a request that the pod has not seen may have met a NetworkPolicy, any other one has not", () => {
  const silence = { pod: "p", milliseconds: 12, result: "silence", detail: "" } as const;
  const nextOf = (probe: ProbeFacts) => probeCheck(probe).next;
  const unseen = { started: 0, results: new Map<string, number>(), toBackend: 0, toConsumer: 0 };
  expect(nextOf({ ...silence, counted: unseen })).toContain("a NetworkPolicy");
  expect(nextOf({ ...silence, counted: { ...unseen, results: new Map([["no_session", 1]]) } })).not.toContain("Policy");
  expect(nextOf(silence)).not.toContain("Policy");
});
