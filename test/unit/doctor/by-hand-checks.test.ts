import { expect, test } from "bun:test";
import { type ByHandFacts, byHandPath } from "../../../src/doctor/by-hand-checks.ts";
import { diagnose } from "../../../src/doctor/check.ts";

const proxy = (given: Partial<NonNullable<ByHandFacts["proxy"]>> = {}): NonNullable<ByHandFacts["proxy"]> => ({
  endpoint: "proxy.example.net:7835",
  name: { gave: ["192.0.2.1"] },
  tcp: { gave: "192.0.2.1:7835" },
  protocol: { gave: undefined },
  secret: { gave: { objection: undefined } },
  ...given,
});
const backend = { endpoint: "db:5432", name: { gave: ["10.0.0.5"] }, tcp: { gave: "10.0.0.5:5432" } };

test("a secret that is refused and looks odd is said to look so", () => {
  const gave = { objection: "invalid secret", suspicion: "ends with a blank" };
  expect(byHandPath({ proxy: proxy({ secret: { gave } }) }).map(({ evidence }) => evidence)).toContain(
    "the proxy refuses it: invalid secret; the one given here ends with a blank",
  );
});

test.each<[string, ByHandFacts, string, string[]]>([
  [
    "all works",
    { proxy: proxy(), backend },
    "healthy",
    ["name ok", "tcp ok", "protocol ok", "secret ok", "backend name ok", "backend ok"],
  ],
  [
    "no secret was given",
    { proxy: { ...proxy(), secret: undefined } as never },
    "healthy",
    ["name ok", "tcp ok", "protocol ok", "secret skipped", "backend skipped"],
  ],
  [
    "the name does not resolve",
    { proxy: { endpoint: "x:1", name: { failed: "x does not resolve" } }, backend },
    "broken",
    ["name broken", "tcp skipped", "protocol skipped", "secret skipped", "backend name ok", "backend ok"],
  ],
  [
    "the secret is wrong",
    { proxy: proxy({ secret: { gave: { objection: "invalid secret" } } }) },
    "broken",
    ["name ok", "tcp ok", "protocol ok", "secret broken", "backend skipped"],
  ],
  [
    "what answers is no netaminity proxy",
    {
      proxy: { ...proxy({ protocol: { failed: "what answers is no netaminity proxy" } }), secret: undefined } as never,
    },
    "broken",
    ["name ok", "tcp ok", "protocol broken", "secret skipped", "backend skipped"],
  ],
  [
    "the proxy cannot check a secret yet",
    { proxy: proxy({ secret: { gave: "not offered" } }) },
    "unknown",
    ["name ok", "tcp ok", "protocol ok", "secret unknown", "backend skipped"],
  ],
  [
    "the handshake breaks",
    { proxy: proxy({ secret: { failed: "reset" } }) },
    "broken",
    ["name ok", "tcp ok", "protocol ok", "secret broken", "backend skipped"],
  ],
  [
    "only the backend, and it refuses",
    { backend: { ...backend, tcp: { failed: "refused" } } },
    "broken",
    ["proxy skipped", "backend name ok", "backend broken"],
  ],
])("%s", (_, facts, verdict, outcomes) => {
  const checks = byHandPath(facts);
  expect([diagnose("it", checks).verdict, checks.map(({ link, outcome }) => `${link} ${outcome}`)]).toEqual([
    verdict,
    outcomes,
  ] as never);
});
