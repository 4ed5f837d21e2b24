import { expect, test } from "bun:test";
import type { Condition } from "../../../src/api/conditions.ts";
import type { ProxySpec } from "../../../src/api/proxy.ts";
import type { TargetSpec } from "../../../src/api/target.ts";
import type { TunnelSpec } from "../../../src/api/tunnel.ts";
import { diagnose } from "../../../src/doctor/check.ts";
import type { ProxyFacts, TargetFacts } from "../../../src/doctor/facts.ts";
import { proxyPath, targetPath, tunnelPath } from "../../../src/doctor/paths.ts";
import { makeNode, makePod, makeProxy, makeTarget, makeTunnel } from "../../support/objects.ts";
import { agent, condition, denied, proxyFacts, proxyStatus, targetFacts, targetStatus, tunnelFacts } from "./facts.ts";

const numbers = (sessions: number, encrypted?: number) =>
  [
    `netaminity_sessions ${sessions}`,
    ...(encrypted === undefined ? [] : [`netaminity_sessions_encrypted ${encrypted}`]),
  ].join("\n");

const updated = condition("Updated", "True", "UpToDate");
const rolling = condition("Updated", "False", "RollingOut", "0 of 1 pods are up to date");

function proxy(encryption: ProxySpec["encryption"], more: Partial<ProxyFacts> = {}, state: Condition = updated) {
  const status = proxyStatus({ conditions: [...proxyStatus().conditions, state] });
  return proxyFacts({ object: { found: makeProxy({ encryption }, { status }) }, ...more });
}

function target(encryption: TargetSpec["encryption"], more: Partial<TargetFacts> = {}) {
  const status = targetStatus({ conditions: [...targetStatus().conditions, updated] });
  return targetFacts({ object: { found: makeTarget({ encryption }, { status }) }, ...more });
}

function tunnelOf(
  encryption: TunnelSpec["encryption"],
  [ofProxy, ofTarget]: [ProxyFacts, TargetFacts],
  state: Condition = updated,
) {
  const { object } = tunnelFacts();
  const status = "found" in object ? object.found.status : undefined;
  if (status === undefined) throw new Error("the Tunnel has a status");
  const found = makeTunnel({ encryption }, { status: { ...status, conditions: [...status.conditions, state] } });
  return tunnelFacts({ object: { found }, pairs: [{ proxy: ofProxy, target: ofTarget }] });
}

const elsewhere = {
  pods: { found: [makePod("t", { ready: true, node: "n2" })] },
  nodes: { found: [makeNode("n2")] },
};
const agents = (pod: string, ...count: Parameters<typeof numbers>) => ({ agents: [agent(pod, numbers(...count))] });

/** The verdict of the path, and what the link says. */
function said(checks: ReturnType<typeof proxyPath>) {
  const check = checks.find(({ link }) => link === "encryption");
  return [diagnose("it", checks).verdict, check?.outcome, check?.evidence, check?.next];
}

const means = "plain: whoever carries the packets can read and change them";
const unless = "unless every link in between is your own, or already encrypted below.";
const inOrder = `Set spec.encryption to required, first of the Target and then, when it is Updated, of the Proxy, ${unless}`;
const setTunnel = `Set spec.encryption of Tunnel api to required, ${unless}`;

test.each<[string, ReturnType<typeof proxyPath>, (string | undefined)[]]>([
  [
    "a plain session of a Proxy is a remark, and nothing is broken",
    proxyPath(proxy("optional"), undefined),
    ["healthy", "ok", `p: the session is ${means}`, inOrder],
  ],
  [
    "that of a Target too",
    targetPath(target("off"), undefined),
    ["healthy", "ok", `t: the session is ${means}`, inOrder],
  ],
  [
    "that of a Tunnel's Proxy names the Tunnel",
    proxyPath(
      proxyFacts({ object: { found: makeProxy({}, { owner: makeTunnel(), status: proxyStatus() }) } }),
      undefined,
    ),
    ["healthy", "ok", `p: the session is ${means}`, setTunnel],
  ],
  [
    "that of a Tunnel too",
    tunnelPath("api", tunnelOf("off", [proxy("optional"), target("off", elsewhere)]), undefined),
    ["healthy", "ok", `p: the session is ${means}`, setTunnel],
  ],
  [
    "within one node there is nothing to remark",
    tunnelPath("api", tunnelOf("off", [proxy("optional"), target("off")]), undefined),
    ["healthy", "ok", "p: the session is plain, and its packets never leave their node", undefined],
  ],
  [
    "of several sessions it says how many",
    proxyPath(proxy("optional", agents("p", 3, 1)), undefined),
    ["healthy", "ok", `p: 2 of 3 sessions are ${means}`, inOrder],
  ],
  [
    "an encrypted session is told of, whoever asked for it",
    proxyPath(proxy("optional", agents("p", 1, 1)), undefined),
    ["healthy", "ok", "p: the session is encrypted", undefined],
  ],
  [
    "that of a pair is as both ends say",
    tunnelPath(
      "api",
      tunnelOf("required", [
        proxy("required", agents("p", 1, 1)),
        target("required", { ...elsewhere, ...agents("t", 1, 1) }),
      ]),
      undefined,
    ),
    ["healthy", "ok", "p: the session is encrypted", undefined],
  ],
  [
    "a plain session where encryption is required is broken",
    proxyPath(proxy("required", agents("p", 1, 0)), undefined),
    [
      ...["broken", "broken", "p: a session is plain though Proxy edge requires encryption"],
      "Its pods do not run what is asked for: compare their image with the operator's version.",
    ],
  ],
  [
    "an agent that is older than encryption is plain",
    targetPath(target("required"), undefined),
    [
      ...["broken", "broken", "t: a session is plain though Target inner requires encryption"],
      "Its pods do not run what is asked for: compare their image with the operator's version.",
    ],
  ],
  [
    "one end of a pair that says plain is enough",
    tunnelPath(
      "api",
      tunnelOf("required", [
        proxy("required", agents("p", 1, 1)),
        target("required", { ...elsewhere, ...agents("t", 2, 1) }),
      ]),
      undefined,
    ),
    [
      ...["broken", "broken", "t: a session is plain though Tunnel api requires encryption"],
      "Its pods do not run what is asked for: compare their image with the operator's version.",
    ],
  ],
  [
    "while it is switched on nobody can tell, and it is not called healthy",
    tunnelPath("api", tunnelOf("required", [proxy("optional"), target("required", elsewhere)], rolling), undefined),
    [
      ...["unknown", "unknown"],
      "p: a session is plain though Tunnel api requires encryption; the change is being made: 0 of 1 pods are up to date",
      "Wait until it is Updated; when it lasts, do what the message says.",
    ],
  ],
  [
    "pods that cannot be asked leave it open",
    proxyPath(proxy("required", { agents: [agent("p", "", { samples: denied })] }), undefined),
    ["healthy", "unknown", "whether the session is encrypted: the pods cannot be asked", undefined],
  ],
  [
    "without a session it is no question",
    proxyPath(proxy("optional", agents("p", 0, 0)), undefined),
    ["broken", undefined, undefined, undefined],
  ],
])("%s", (_, checks, expected) => expect(said(checks)).toEqual(expected as never));

test("two sides that cannot meet are the first thing broken, before the session that they do not have", () => {
  const lonely = { pods: { found: [makePod("t")] }, ...agents("t", 0, 0) };
  const facts = tunnelOf("required", [proxy("required", agents("p", 0, 0)), target("off", lonely)]);
  const { checks, firstBroken } = diagnose("it", tunnelPath("api", facts, undefined));
  expect(checks[firstBroken ?? -1]).toEqual({
    ...{ link: "encryption", outcome: "broken" },
    evidence: "the Proxy requires encryption, but the Target does not encrypt",
    next: "Both follow spec.encryption of the Tunnel: set it there alone, and see that the operator runs.",
  });
  expect(checks.slice((firstBroken ?? 0) + 1).map(({ link }) => link)).toContain("target session");
});

test("a proxy pod that complained of a plain target is quoted, with what to do", () => {
  const warnings = { found: ['handshake refused reason="this proxy requires encryption" peer=10.0.0.9:4711'] };
  const facts = proxy("required", {
    pods: { found: [makePod("p")] },
    agents: [agent("p", numbers(0, 0), { warnings })],
  });
  const { checks, firstBroken } = diagnose("it", proxyPath(facts, undefined));
  expect(checks[firstBroken ?? -1]).toMatchObject({
    evidence: `no target is attached; a proxy pod logged: ${warnings.found[0]}`,
    next: expect.stringContaining("where the Proxy's spec.encryption is required, the Target's must be too"),
  });
});
