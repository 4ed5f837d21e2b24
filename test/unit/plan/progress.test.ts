import { expect, test } from "bun:test";
import { bad, good, ofGeneration } from "../../../src/plan/conditions.ts";
import { withProgress } from "../../../src/plan/progress.ts";
import { planProxy } from "../../../src/plan/proxy.ts";
import { type Reason, type ReasonText, reasons } from "../../../src/plan/reasons.ts";
import { planTarget } from "../../../src/plan/target.ts";
import { planTunnel } from "../../../src/plan/tunnel.ts";
import { makeSecret } from "../../support/objects.ts";
import { deploymentOf, makeProxyInput, proxy } from "../../support/proxy-input.ts";
import { makeTargetInput, target } from "../../support/target-input.ts";
import {
  condition,
  endpointOf,
  goodProxy,
  makeTunnelInput,
  proxyOf,
  proxyStatus,
  targetOf,
  tunnel,
} from "../../support/tunnel-input.ts";

const upToDate = good("UpToDate", "all");

test("nothing is told of an object that is as it was asked for", () => {
  const verdicts = [
    ["Ready", good("Available", "yes")],
    ["Connected", bad("WaitingForTarget", "none yet")],
    ["Updated", upToDate],
  ] as const;
  expect(withProgress(verdicts)).toEqual([...verdicts]);
  const zero = [
    ["Ready", bad("ScaledToZero", "0")],
    ["Updated", upToDate],
  ] as const;
  expect(withProgress(zero)).toEqual([...zero]);
});

test("what is still to come is Reconciling, what waits for somebody is Stalled, never both", () => {
  const rolling = bad("RollingOut", "1 of 2");
  expect(
    withProgress([
      ["Ready", good("Available", "yes")],
      ["Updated", rolling],
    ]).at(-1),
  ).toEqual(["Reconciling", { ...rolling, status: "True" }]);
  const missing = bad("SecretMissing", "none");
  expect(withProgress([["Ready", missing]]).at(-1)).toEqual(["Reconciling", { ...missing, status: "True" }]);
  const conflict = bad("NameConflict", "taken");
  const told = withProgress([
    ["Ready", bad("PodsStarting", "soon")],
    ["Updated", conflict],
  ]);
  expect(told.slice(2)).toEqual([["Stalled", { ...conflict, status: "True" }]]);
});

test("what stalls is a problem: nobody is told to act without an Event", () => {
  for (const reason of Object.keys(reasons) as Reason[]) {
    const text: ReasonText = reasons[reason];
    if (text.isStalled) expect([reason, text.isProblem]).toEqual([reason, true]);
  }
});

test("only what holds can hold for an earlier generation", () => {
  expect(ofGeneration(bad("PodsStarting", "no"), false)).toEqual(bad("PodsStarting", "no"));
  expect(ofGeneration(good("Available", "yes"), true)).toEqual(good("Available", "yes"));
  expect(ofGeneration(good("Available", "yes"), false).isOfEarlier).toBe(true);
});

/** Status and observedGeneration by type. */
function told({
  status,
}: {
  status: { conditions: readonly { type: string; status: string; observedGeneration: number }[] };
}) {
  return Object.fromEntries(
    status.conditions.map(({ type, status, observedGeneration }) => [type, `${status} ${observedGeneration}`]),
  );
}

test("a Proxy whose new pods do not serve yet is Ready and Connected for the generation that serves", () => {
  const atRest = planProxy(makeProxyInput()).status;
  const changed = {
    ...proxy,
    metadata: { ...proxy.metadata, generation: 4 },
    spec: { ...proxy.spec, drainTimeout: "7s" },
    status: atRest,
  };
  const before = planProxy({ ...makeProxyInput({ proxy: changed }), deployments: [deploymentOf(proxy)] });
  expect(told(before)).toEqual({ Ready: "True 3", Connected: "True 3", Updated: "False 4", Reconciling: "True 4" });
  const after = planProxy(makeProxyInput({ proxy: changed }));
  expect(told(after)).toMatchObject({ Ready: "True 4", Connected: "True 4", Updated: "True 4" });
});

test("a Proxy that comes to serve with older pods does not claim the present generation", () => {
  const status = planProxy(makeProxyInput({ secret: undefined })).status;
  const changed = {
    ...proxy,
    metadata: { ...proxy.metadata, generation: 4 },
    spec: { ...proxy.spec, drainTimeout: "7s" },
    status: { ...status, conditions: status.conditions.map((each) => ({ ...each, observedGeneration: 4 })) },
  };
  const input = { ...makeProxyInput({ proxy: changed }), deployments: [deploymentOf(proxy)] };
  expect(told(planProxy(input))).toMatchObject({ Ready: "True 3" });
});

test("a Target whose new pods have no session yet is Ready for the generation that has one", () => {
  const changed = {
    ...target,
    metadata: { ...target.metadata, generation: 4 },
    spec: { ...target.spec, endpoint: "other:1" },
    status: planTarget(makeTargetInput()).status,
  };
  expect(told(planTarget(makeTargetInput({ target: changed })))).toEqual({
    ...{ Ready: "True 3", Updated: "False 4", Reconciling: "True 4" },
  });
});

test("a Tunnel is Ready for its generation once the conditions of all pairs are about theirs, and available with one", () => {
  const next = { ...tunnel, metadata: { ...tunnel.metadata, generation: 4 } };
  const status = planTunnel(makeTunnelInput()).status;
  const lagging = goodProxy.map((each) => (each.type === "Connected" ? { ...each, observedGeneration: 2 } : each));
  const proxies = [proxyOf(0), proxyOf(1, proxyStatus(lagging, endpointOf(1)))];
  const input = makeTunnelInput({ tunnel: { ...next, status }, proxies });
  expect(told(planTunnel(input))).toMatchObject({ Ready: "True 3", Available: "True 4" });
  expect(told(planTunnel(makeTunnelInput({ tunnel: { ...next, status } })))).toEqual({
    ...{ Ready: "True 4", Available: "True 4", Updated: "True 4" },
  });
});

test("a Tunnel with one pair that serves is available, not ready; with none it is neither", () => {
  const down = targetOf(1, [condition("Ready", "False", "Connecting"), condition("Updated", "True", "UpToDate")]);
  const one = planTunnel(makeTunnelInput({ targets: [targetOf(0), down] })).status.conditions;
  expect(one.map(({ type, status, reason }) => [type, status, reason])).toEqual([
    ["Ready", "False", "PairsWaiting"],
    ["Available", "True", "SomePairsReady"],
    ["Updated", "True", "UpToDate"],
    ["Reconciling", "True", "PairsWaiting"],
  ]);
  const none = planTunnel(makeTunnelInput({ targets: [] })).status.conditions;
  expect(none.find(({ type }) => type === "Available")).toMatchObject({ status: "False", reason: "PairsWaiting" });
  // Whoever else has the consumer Service is not served by this Tunnel.
  const foreign = makeTunnelInput({
    services: [],
    failures: [
      {
        kind: "name-conflict",
        object: { apiVersion: "v1", kind: "Service", name: "api" },
        message: "belongs to somebody else",
      },
    ],
  });
  expect(planTunnel(foreign).status.conditions.find(({ type }) => type === "Available")?.status).toBe("False");
});

test("a Tunnel is stalled by a pair that is, but not by what was said of the pair's earlier generation", () => {
  const conflict = [
    condition("Ready", "False", "PortConflict", "taken"),
    condition("Updated", "True", "UpToDate"),
    condition("Stalled", "True", "PortConflict", "taken"),
  ];
  const stalled = proxyOf(1, proxyStatus(conflict, endpointOf(1)));
  const type = (proxies: [typeof stalled, typeof stalled]) =>
    planTunnel(makeTunnelInput({ proxies })).status.conditions.at(-1)?.type;
  expect(type([proxyOf(0), stalled])).toBe("Stalled");
  const corrected = { ...stalled, metadata: { ...stalled.metadata, generation: 4 } };
  expect(type([proxyOf(0), corrected])).toBe("Reconciling");
  expect(planTunnel(makeTunnelInput({ proxies: [proxyOf(0), corrected] })).status.conditions[0]?.message).toEndWith(
    "pair 1: Proxy api-1: its latest change has not been looked at yet",
  );
});

test("a Tunnel's Updated names the pair whose change does not get through", () => {
  const stuck = proxyOf(1, {
    ...proxyStatus(
      [...goodProxy.slice(0, 2), condition("Updated", "False", "NoSessionAfterChange", "no session")],
      endpointOf(1),
    ),
  });
  const updated = planTunnel(makeTunnelInput({ proxies: [proxyOf(0), stuck] })).status.conditions.find(
    ({ type }) => type === "Updated",
  );
  expect([updated?.reason, updated?.message]).toEqual([
    "NoSessionAfterChange",
    "1 of 2 pairs are up to date; pair 1, Proxy api-1: no session",
  ]);
});

test("a Secret that is wrong stalls, one that is missing may come", () => {
  const last = (secret: ReturnType<typeof makeSecret> | undefined) =>
    planTarget(makeTargetInput({ secret })).status.conditions.at(-1);
  expect(last(undefined)).toMatchObject({ type: "Reconciling", reason: "SecretMissing" });
  expect(last(makeSecret({}))).toMatchObject({ type: "Stalled", reason: "SecretInvalid" });
});
