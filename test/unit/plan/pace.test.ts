import { describe, expect, test } from "bun:test";
import { withHash } from "../../../src/desired/applied.ts";
import { type AgentDeployment, rolloutAnnotation, wishAnnotation } from "../../../src/desired/deployment.ts";
import { proxyDeployment } from "../../../src/desired/proxy-deployment.ts";
import type { ObservedDeployment, Turn } from "../../../src/plan/observed.ts";
import { pace, standOf } from "../../../src/plan/pace.ts";
import { makeDeployment, makeProxy, now, settings } from "../../support/objects.ts";

const { agent } = settings;
const newer = { ...agent, image: "netaminity:next" };
const proxy = makeProxy();
const wait: Turn = { kind: "wait", message: "others" };
const granted: Turn = { kind: "granted" };
const free: Turn = { kind: "free" };

/** What an operator with these settings has made. */
function made(
  from: AgentDeployment,
  { status, without = [] }: { status?: ObservedDeployment["status"]; without?: string[] } = {},
): ObservedDeployment {
  const annotations = { ...withHash(from).metadata.annotations };
  for (const name of without) delete annotations[name];
  return makeDeployment("edge-proxy", { owner: proxy, annotations, ...(status && { status }) });
}
const taken = (from: AgentDeployment): AgentDeployment => ({
  ...from,
  metadata: { ...from.metadata, annotations: { ...from.metadata.annotations, [rolloutAnnotation]: "taken" } },
});

/** What happens to the Deployment, and why its pods wait. */
function outcome(of: typeof proxy, observed: ObservedDeployment | undefined, turn: Turn, image = newer) {
  const { apply, hold, waits } = pace(of, proxyDeployment(of, image), observed, turn);
  const mark = (apply[0] as AgentDeployment | undefined)?.metadata.annotations[rolloutAnnotation];
  return { apply: apply.length, hold: hold.length, mark, reason: waits?.reason };
}

const old = made(proxyDeployment(proxy, agent));
const changed = makeProxy({ drainTimeout: "1m" });
const pausedProxy = makeProxy({ paused: true });
const ofFirstVersion = made(proxyDeployment(proxy, agent), { without: [wishAnnotation] });

test.each([
  [
    "a Deployment that is not there is made, whoever's turn it is",
    proxy,
    undefined,
    wait,
    [1, 0, undefined, undefined],
  ],
  ["also that of a paused object", pausedProxy, undefined, wait, [1, 0, undefined, undefined]],
  ["the operator's change waits", proxy, old, wait, [0, 1, undefined, "WaitingForOthers"]],
  ["the operator's change has its turn and holds a place", proxy, old, granted, [1, 0, "taken", undefined]],
  ["what cannot run is changed without a place", proxy, old, free, [1, 0, undefined, undefined]],
  ["the user's own change does not wait", changed, old, wait, [1, 0, undefined, undefined]],
  ["the user's own change counts", changed, old, granted, [1, 0, "taken", undefined]],
  ["what version 0.1 made waits too", proxy, ofFirstVersion, wait, [0, 1, undefined, "WaitingForOthers"]],
  ["a paused object's pods stay, also with a turn", pausedProxy, old, granted, [0, 1, undefined, "Paused"]],
  [
    "and after the user's own change",
    makeProxy({ paused: true, drainTimeout: "1m" }),
    old,
    granted,
    [0, 1, undefined, "Paused"],
  ],
] as const)("%s", (_, of, observed, turn, expected) => {
  const { apply, hold, mark, reason } = outcome(of, observed, turn);
  expect([apply, hold, mark, reason]).toEqual([...expected]);
});

test("at rest the mark stays as it is, so that nothing is written", () => {
  const marked = made(taken(proxyDeployment(proxy, agent)));
  for (const turn of [granted, free, wait]) {
    expect(pace(proxy, proxyDeployment(proxy, agent), marked, turn)).toMatchObject({ isMade: true, hold: [] });
    expect(pace(proxy, proxyDeployment(proxy, agent), old, turn)).toMatchObject({ isMade: true, hold: [] });
  }
});

test("of what waits only the number of pods and what follows from it is changed", () => {
  const wanted = proxyDeployment(makeProxy({ replicas: 3 }), newer);
  expect(pace(proxy, wanted, old, wait).hold as readonly object[]).toEqual([
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "edge-proxy", namespace: "demo" },
      spec: {
        replicas: 3,
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 2 } },
        progressDeadlineSeconds: 2147483647,
      },
    },
  ]);
});

describe("how an object stands in the wave", () => {
  const failing = makeProxy(
    {},
    {
      status: {
        observedGeneration: 3,
        conditions: [
          {
            ...{ type: "Ready", status: "False", reason: "PodsFailing", message: "ImagePullBackOff" },
            ...{ lastTransitionTime: now, observedGeneration: 3 },
          },
        ],
        ...{ replicas: 1, liveReplicas: 0, readyReplicas: 0, updatedReplicas: 1, selector: "" },
      },
    },
  );
  const done = { replicas: 1, updatedReplicas: 1 };
  const half = { replicas: 2, updatedReplicas: 1 };
  const current = proxyDeployment(proxy, newer);
  const stand = (of: typeof proxy, observed: ObservedDeployment) => {
    const { isOutdated, isBroken, holdsPlace } = standOf(of, [observed], newer);
    return [isOutdated, isBroken, holdsPlace];
  };

  test.each([
    ["older pods", proxy, old, [true, false, false]],
    ["the newest pods, never changed", proxy, made(current, { status: half }), [false, false, false]],
    ["a change under way", proxy, made(taken(current), { status: half }), [false, false, true]],
    [
      "a change not seen by the Deployment's controller",
      proxy,
      made(taken(current), { status: { ...done, observedGeneration: 4 } }),
      [false, false, true],
    ],
    ["a finished change", proxy, made(taken(current), { status: done }), [false, false, false]],
    ["a finished change whose pods cannot run", failing, made(taken(current), { status: done }), [false, true, true]],
    [
      "pods that cannot run and were changed without a place",
      failing,
      made(current, { status: done }),
      [false, true, false],
    ],
    [
      "a change under way that is outdated",
      proxy,
      made(taken(proxyDeployment(proxy, agent)), { status: half }),
      [true, false, true],
    ],
    ["the user's own change", changed, old, [false, false, false]],
    ["a paused object", pausedProxy, made(taken(current), { status: half }), [false, false, false]],
  ] as const)("%s", (_, of, observed, expected) => {
    expect(stand(of, observed)).toEqual([...expected]);
  });
});
