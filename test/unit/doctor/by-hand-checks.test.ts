import { expect, test } from "bun:test";
import { type ByHandFacts, byHandPath } from "../../../src/doctor/by-hand-checks.ts";
import { diagnose } from "../../../src/doctor/check.ts";

const proxy = (given: Partial<NonNullable<ByHandFacts["proxy"]>> = {}): NonNullable<ByHandFacts["proxy"]> => ({
  endpoint: "proxy.example.net:7835",
  name: { gave: ["192.0.2.1"] },
  tcp: { gave: "192.0.2.1:7835" },
  protocol: { gave: undefined },
  secret: { gave: { objection: undefined } },
  encryption: "off",
  offered: "optional",
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
    ["name ok", "tcp ok", "protocol ok", "secret ok", "encryption ok", "backend name ok", "backend ok"],
  ],
  [
    "no secret was given",
    { proxy: { ...proxy(), secret: undefined } as never },
    "healthy",
    ["name ok", "tcp ok", "protocol ok", "secret skipped", "encryption ok", "backend skipped"],
  ],
  [
    "the name does not resolve",
    { proxy: { endpoint: "x:1", name: { failed: "x does not resolve" }, encryption: "off" }, backend },
    "broken",
    [
      "name broken",
      "tcp skipped",
      "protocol skipped",
      "secret skipped",
      "encryption skipped",
      "backend name ok",
      "backend ok",
    ],
  ],
  [
    "the secret is wrong",
    { proxy: proxy({ secret: { gave: { objection: "invalid secret" } } }) },
    "broken",
    ["name ok", "tcp ok", "protocol ok", "secret broken", "encryption ok", "backend skipped"],
  ],
  [
    "what answers is no netaminity proxy",
    {
      proxy: {
        ...proxy({ protocol: { failed: "what answers is no netaminity proxy" } }),
        secret: undefined,
        offered: undefined,
      } as never,
    },
    "broken",
    ["name ok", "tcp ok", "protocol broken", "secret skipped", "encryption skipped", "backend skipped"],
  ],
  [
    "the proxy cannot check a secret yet",
    { proxy: proxy({ secret: { gave: "not offered" } }) },
    "unknown",
    ["name ok", "tcp ok", "protocol ok", "secret unknown", "encryption ok", "backend skipped"],
  ],
  [
    "the handshake breaks",
    { proxy: proxy({ secret: { failed: "reset" } }) },
    "broken",
    ["name ok", "tcp ok", "protocol ok", "secret broken", "encryption ok", "backend skipped"],
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

const remarkOn = (next: string) => [
  ...["ok", "the session will be plain: whoever carries the packets can read and change them"],
  `${next} the target --encryption required, unless every link in between is your own, or already encrypted below.`,
];
test.each<[string, Partial<NonNullable<ByHandFacts["proxy"]>>, (string | undefined)[]]>([
  ["off, and the proxy can: when to switch it on", {}, remarkOn("Give")],
  ["off, and the proxy cannot: what comes first", { offered: "none" }, remarkOn("Update the proxy, then give")],
  [
    "off within one machine",
    { tcp: { gave: "127.0.0.1:7835" } },
    ["ok", "it is off, and the packets never leave this machine", undefined],
  ],
  [
    "off, through an HTTP proxy on this machine",
    { tcp: { gave: "[::1]:3128" }, via: "http://[::1]:3128" },
    remarkOn("Give"),
  ],
  [
    "off, though the proxy requires it",
    { offered: "required" },
    [
      ...["broken", "the proxy requires it, and it is off here"],
      "Give the target --encryption required (NETAMINITY_ENCRYPTION).",
    ],
  ],
  [
    "required, and the proxy can",
    { encryption: "required" },
    ["ok", "it is required here, and the proxy can", undefined],
  ],
  [
    "required, and the proxy cannot",
    { encryption: "required", offered: "none" },
    [
      ...["broken", "it is required here, and the proxy cannot encrypt"],
      "Update the proxy; until then the target has no session.",
    ],
  ],
])("encryption is %s", (_, given, expected) => {
  const check = byHandPath({ proxy: proxy(given) }).find(({ link }) => link === "encryption");
  expect([check?.outcome, check?.evidence, check?.next]).toEqual(expected as never);
});
