/** Where the active pods of a Tunnel's pairs are: on different nodes where that is possible, and none moves without need. */
import { describe, expect, test } from "bun:test";
import { type ActivePodInput, chooseActivePod } from "../../../src/plan/active-pod.ts";
import type { ObservedNode, ObservedPod, ProbeResult } from "../../../src/plan/observed.ts";
import { makeDeployment, makeNode, makePod, makeReplicaSet, now, type PodFacts } from "../../support/objects.ts";

const deployment = makeDeployment("t-1-proxy");
const [revision, other] = [makeReplicaSet(deployment, 1), makeReplicaSet(deployment, 2)];

const at = (milliseconds: number) => `${new Date(Date.parse(now) + milliseconds).toISOString().slice(0, 19)}Z`;
const running = (since: number): PodFacts => ({ state: { running: { startedAt: at(since) } } });
const pod = (name: string, node: string, facts: PodFacts = {}) =>
  makePod(name, { ...running(-60_000), node, ...facts }, revision);
const answer = ({ metadata: { uid } }: ObservedPod, healthy = true): ProbeResult => ({
  ...{ podUid: uid, healthy, failures: healthy ? 0 : 3 },
});

/** The pair before it is active on n1: its own active pod is there too, and its standby on n2. */
const active = pod("a", "n1", { ready: true });
const standby = pod("b", "n2");
const shares = "is on one node with the active pod of another pair";

const inputOf = (change: Partial<ActivePodInput> = {}): ActivePodInput => {
  const { pods = [active, standby] } = change;
  return {
    pods,
    newestRevision: "r1",
    nodes: ["n1", "n2", "n3"].map((name) => makeNode(name)),
    probes: pods.map((each) => answer(each)),
    current: { uid: "uid-of-a", containerId: "a-1" },
    secretVersion: "",
    attempt: undefined,
    takenNodes: ["n1"],
    now,
    ...change,
  };
};

const readySince = (name: string, since: number): ObservedNode => ({
  metadata: { name },
  status: { conditions: [{ type: "Ready", status: "True", lastTransitionTime: at(since) }] },
});

describe("a working active pod that shares its node with that of a pair before it", () => {
  test("gives its place to a standby on another node, as an attempt", () => {
    const pods = [active, standby];
    expect(chooseActivePod(inputOf({ pods }))).toEqual({
      active: standby,
      departure: shares,
      silent: [],
      attempt: { revision: "r1", secret: "", pod: "uid-of-b", since: now, failures: 0 },
      lookAgain: 11_000,
    });
  });

  const c = pod("c", "n3");
  const places: Record<string, [change: Partial<ActivePodInput>, to: string]> = {
    "to the standby on the emptier of two nodes": [{ pods: [active, standby, c], takenNodes: ["n1", "n1", "n2"] }, "c"],
    "to a standby on a node that is taken less often": [{ takenNodes: ["n2", "n1", "n1"] }, "b"],
    "also when the operator may not read nodes": [{ nodes: undefined }, "b"],
    "also when the operator reaches no pod at all": [{ probes: [answer(active, false), answer(standby, false)] }, "b"],
    "again when the pause after a fruitless attempt is over": [
      { attempt: { revision: "r1", secret: "", pod: "uid-of-b", since: at(-30_000), failures: 1 } },
      "b",
    ],
    "at once while no pod has a session: nobody is served": [
      {
        pods: [pod("a", "n1"), pod("b", "n2", running(-1000))],
        nodes: [readySince("n1", -5000), readySince("n2", -5000)],
      },
      "b",
    ],
  };
  for (const [title, [change, to]] of Object.entries(places)) {
    test(`gives it ${title}`, () => {
      const { active: chosen, departure } = chooseActivePod(inputOf(change));
      expect([chosen?.metadata.name, departure]).toEqual([to, shares]);
    });
  }

  const stays: Record<string, [change: Partial<ActivePodInput>, lookAgain?: number]> = {
    "when the pairs before it are elsewhere": [{ takenNodes: ["n2", "n3"] }],
    "when the standby is on the same node": [{ pods: [active, pod("b", "n1")] }],
    "when the standby's node is as crowded": [{ takenNodes: ["n1", "n2"] }],
    "when there is no standby": [{ pods: [active] }],
    "when the standby does not run": [{ pods: [active, pod("b", "n2", { state: { waiting: {} } })] }],
    "when the standby does not answer": [{ probes: [answer(active), answer(standby, false)] }],
    "when the standby was not asked yet": [{ probes: [answer(active)] }],
    "when the standby's node is not ready": [{ nodes: [makeNode("n1"), makeNode("n2", "Unknown")] }],
    "while the standby has run only for 10 s": [{ pods: [active, pod("b", "n2", running(-10_000))] }, 21_000],
    "while the standby's node has been ready only for 20 s": [
      { nodes: [readySince("n1", -90_000), readySince("n2", -20_000)] },
      11_000,
    ],
    "while the former pod still carries a session too": [{ pods: [active, pod("b", "n2", { ready: true })] }],
    "during a rollout": [{ pods: [active, standby, makePod("c", { node: "n3" }, other)] }],
    "while a pod is on its way out": [{ pods: [active, standby, pod("c", "n3", { deleting: true })] }],
    "for a while when the standby got no session before": [
      { attempt: { revision: "r1", secret: "", pod: "uid-of-b", since: at(-10_000), failures: 1 } },
      21_000,
    ],
  };
  for (const [title, [change, lookAgain]] of Object.entries(stays)) {
    test(`stays ${title}`, () => {
      const choice = chooseActivePod(inputOf(change));
      expect([choice.active?.metadata.name, choice.departure, choice.lookAgain]).toEqual(["a", undefined, lookAgain]);
    });
  }

  test("gets its place back when no session comes within 10 s", () => {
    const attempt = { revision: "r1", secret: "", pod: "uid-of-b", since: at(-10_000), failures: 0 };
    const choice = chooseActivePod(inputOf({ current: { uid: "uid-of-b", containerId: "b-1" }, attempt }));
    expect([choice.active?.metadata.name, choice.departure, choice.attempt]).toEqual([
      "a",
      "got no session",
      { ...attempt, since: now, failures: 1 },
    ]);
  });
});

test("a lost pod's successor is one that answers, before one on an emptier node", () => {
  const pods = [pod("c", "n1"), pod("d", "n2")];
  expect(chooseActivePod(inputOf({ pods })).active?.metadata.name).toBe("d");
  expect(chooseActivePod(inputOf({ pods, probes: [answer(pod("c", "n1"))] })).active?.metadata.name).toBe("c");
});

/** Every pair decides by what it last knew of the others, which in the worst case is what was before any of them moved. */
describe("pairs that all begin on one node come to rest", () => {
  const cases = [1, 2, 3, 4, 7, 12].flatMap((pairs) => [1, 2, 3, 5].map((nodes) => [pairs, nodes] as const));
  test.each(cases)("%d pairs on %d nodes", (pairs, nodeCount) => {
    const names = Array.from({ length: nodeCount }, (_, i) => `n${i}`);
    let places = Array.from({ length: pairs }, () => "n0");
    const step = () =>
      places.map((place, index) => {
        const pods = names.map((node) => pod(node, node, { ready: node === place }));
        const takenNodes = places.slice(0, index);
        const current = { uid: `uid-of-${place}`, containerId: `${place}-1` };
        const nodes = names.map((name) => makeNode(name));
        const choice = chooseActivePod(inputOf({ pods, current, nodes, takenNodes }));
        return choice.active?.metadata.name ?? "";
      });
    for (let round = 0; round < pairs; round += 1) places = step();
    expect(step()).toEqual(places);
    const counts = names.map((name) => places.filter((place) => place === name).length);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  });
});
