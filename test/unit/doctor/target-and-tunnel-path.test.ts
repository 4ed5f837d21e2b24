import { describe, expect, test } from "bun:test";
import { diagnose } from "../../../src/doctor/check.ts";
import type { TargetFacts } from "../../../src/doctor/facts.ts";
import { targetPath, tunnelPath } from "../../../src/doctor/paths.ts";
import { reasons } from "../../../src/plan/reasons.ts";
import { makePod, makeTarget } from "../../support/objects.ts";
import {
  absent,
  agent,
  condition,
  denied,
  finding,
  outcomes,
  proxyFacts,
  targetFacts,
  targetStatus,
  tunnelFacts,
} from "./facts.ts";

describe("a Target", () => {
  const noSession = (reason: string, count = 3): Partial<TargetFacts> => ({
    pods: { found: [makePod("t")] },
    object: {
      found: makeTarget({}, { status: targetStatus({ conditions: [condition("Ready", "False", "Connecting")] }) }),
    },
    agents: [
      agent("t", `netaminity_sessions 0\nnetaminity_reconnects_total{reason="${reason}"} ${count}\n`, {
        readiness: { found: "no session with the proxy: it says why" },
      }),
    ],
  });

  test.each([
    [
      "unresolved",
      "The name in spec.proxyEndpoint does not resolve on the target's side: correct it, or the DNS there.",
    ],
    ["rejected", "The secrets of both ends differ: set the key secret to the same value on both sides."],
    [
      "timeout",
      "No answer from spec.proxyEndpoint: a firewall or a route on the way from the target's node drops the packets.",
    ],
    [
      "encryption",
      "Only one end encrypts: where the Proxy's spec.encryption is required, the Target's must be too; where the Target's is, the proxy must be of a version that can.",
    ],
    ["something new", reasons.Connecting.todo],
  ])("without a session, whose attempts end with %p, gets the advice for that", (reason, next) => {
    expect(finding(targetPath(targetFacts(noSession(reason)), undefined))).toEqual([
      ...["broken", "session", "t: no session with the proxy: it says why", next],
    ]);
  });

  test.each([
    ["proxy:7835 refused the connection: ECONNREFUSED", "timeout", /^Nothing listens/],
    ["the proxy says: invalid secret", "refused", /^The secrets of both ends differ/],
    ["the proxy does not know the secret", "refused", /^The secrets of both ends differ/],
    ["proxy:7835 did not answer", "rejected", /^No answer from/],
    ["what answers is no netaminity proxy: it asks for no secret", "refused", /^What answers/],
  ])("the advice follows the present cause, %p, not what was most since the start (%s)", (cause, before, next) => {
    const facts = noSession(before, 1000);
    const agents = [
      agent("t", `netaminity_reconnects_total{reason="${before}"} 1000\n`, {
        readiness: { found: `no session with the proxy: ${cause}` },
      }),
    ];
    expect(finding(targetPath(targetFacts({ ...facts, agents }), undefined)).at(-1)).toMatch(next);
  });

  test("whose pods may not be looked at is broken when its status says so, and else unknown", () => {
    const path = (status: "True" | "False" | undefined) => {
      const conditions =
        status === undefined ? [] : [condition("Ready", status, status === "True" ? "SessionUp" : "Connecting")];
      const object = { found: makeTarget({}, { status: targetStatus({ conditions }) }) };
      const checks = targetPath(targetFacts({ object, pods: denied, agents: [] }), undefined);
      return checks.find(({ link }) => link === "session")?.outcome;
    };
    expect([path("True"), path("False"), path(undefined)]).toEqual(["unknown", "broken", "unknown"]);
  });

  test("whose pod is on a lost node is not said to run without a session", () => {
    const conditions = [condition("Ready", "False", "NodeNotReady")];
    const object = { found: makeTarget({}, { status: targetStatus({ conditions }) }) };
    const agents = [agent("t", "", { samples: denied, readiness: denied, warnings: denied })];
    const [, , evidence, next] = finding(
      targetPath(targetFacts({ ...noSession("timeout"), object, agents }), undefined),
    );
    expect([evidence, next]).toEqual([conditions[0]?.message, reasons.NodeNotReady.todo]);
  });

  test("shows what its log suspects of the secret", () => {
    const refused = 'the proxy refused the session reason=x suspicion="the secret of this end ends with a blank"';
    const facts = noSession("rejected");
    const agents = (facts.agents ?? []).map((one) => ({ ...one, warnings: { found: [refused] } }));
    expect(finding(targetPath(targetFacts({ ...facts, agents }), undefined))[2]).toBe(
      `t: no session with the proxy: it says why; it logged: ${refused}`,
    );
  });

  test("that cannot be asked is judged by its log", () => {
    const silent = agent("t", "", {
      samples: denied,
      readiness: denied,
      warnings: { found: ["the proxy cannot be reached reason=x"] },
    });
    expect(finding(targetPath(targetFacts({ ...noSession("x"), agents: [silent] }), undefined))[2]).toBe(
      "t: the proxy cannot be reached reason=x",
    );
  });

  const dials = (...lines: string[]) => [
    agent("t", ["netaminity_sessions 1", ...lines.map((line) => `netaminity_backend_dials_total${line}`)].join("\n")),
  ];
  test.each([
    [
      "no consumer yet",
      dials(),
      "unknown",
      "no consumer has asked for backend.private.svc:8080 since the target pod started",
    ],
    [
      "all failed",
      dials('{result="refused"} 4', '{result="timeout"} 1'),
      "broken",
      "backend.private.svc:8080: none of 5 connections came about (refused 4, timeout 1)",
    ],
    [
      "some failed",
      dials('{result="connected"} 9', '{result="unresolved"} 1'),
      "unknown",
      "backend.private.svc:8080: 1 of 10 connections failed (unresolved 1)",
    ],
    [
      "some failed, the latest too",
      [...dials('{result="connected"} 9', '{result="unresolved"} 1'), agent("u", "netaminity_backend_failing 1\n")],
      "broken",
      "backend.private.svc:8080: the latest connection failed, as 1 of 10 (unresolved 1)",
    ],
    ["none failed", dials('{result="connected"} 9'), "ok", "backend.private.svc:8080: 9 connections, none failed"],
  ])("the backend's link tells what was dialled: %s", (_, agents, outcome, evidence) => {
    const check = targetPath(targetFacts({ agents }), undefined).find(({ link }) => link === "backend");
    expect([check?.outcome, check?.evidence]).toEqual([outcome, evidence]);
  });
});

describe("a Tunnel", () => {
  test("of one pair that works shows the whole path", () => {
    const checks = tunnelPath("api", tunnelFacts(), undefined);
    expect(diagnose("it", checks).verdict).toBe("healthy");
    expect(outcomes(checks)).toEqual([
      ...["object ok", "secret ok", "proxy ok", "proxy pods ok", "proxy nodes ok", "rendezvous ok", "target ok"],
      ...[
        "target pods ok",
        "target nodes ok",
        "target session ok",
        "proxy session ok",
        "encryption ok",
        "backend ok",
        "service ok",
      ],
    ]);
  });

  test("that was probed gets no advice to probe", () => {
    const pairs = [{ proxy: proxyFacts(), target: targetFacts({ agents: [] }) }];
    const advice = (probe?: Parameters<typeof tunnelPath>[2]) =>
      tunnelPath("api", tunnelFacts({ pairs }), probe).find(({ link }) => link === "backend")?.next;
    expect(advice()).toBe("--probe tries it now.");
    expect(advice({ unknown: "nobody could ask" })).toBe(undefined as never);
  });

  test("of three pairs shows the broken one, and the others in a line each", () => {
    const good = { proxy: proxyFacts(), target: targetFacts() };
    const pairs = [good, { ...good, target: targetFacts({ name: "api-1", object: absent }) }, good];
    expect(outcomes(tunnelPath("api", tunnelFacts({ pairs }), undefined))).toEqual([
      ...["object ok", "secret ok", "pair 0 ok"],
      ...[
        "pair 1 proxy ok",
        "pair 1 proxy pods ok",
        "pair 1 proxy nodes ok",
        "pair 1 rendezvous ok",
        "pair 1 target broken",
      ],
      ...["pair 2 ok", "service ok"],
    ]);
  });

  test("that is scaled to nothing is broken at the object", () => {
    const { object } = tunnelFacts();
    if (!("found" in object)) throw new Error("the Tunnel is there");
    const conditions = [condition("Ready", "False", "ScaledToZero", "spec.replicas is 0")];
    const status = { ...object.found.status, conditions } as typeof object.found.status & object;
    const checks = tunnelPath(
      "api",
      tunnelFacts({ object: { found: { ...object.found, status } }, pairs: [] }),
      undefined,
    );
    expect(finding(checks)).toEqual([
      "broken",
      "object",
      "ScaledToZero: spec.replicas is 0",
      reasons.ScaledToZero.todo,
    ]);
  });
});
