import { describe, expect, test } from "bun:test";
import { addressesOf, isLive, workloadOf } from "../../../src/plan/pods.ts";
import { podsToProbe } from "../../../src/plan/pods-to-probe.ts";
import { makeDeployment, makeNode, makePod, makeProxy, makeReplicaSet } from "../../support/objects.ts";

const deployment = makeDeployment("edge-proxy");
const [first, second] = [makeReplicaSet(deployment, 9), makeReplicaSet(deployment, 10)];
const names = (pods: { metadata: { name: string } }[]) => pods.map(({ metadata }) => metadata.name);

describe("the pods of a Deployment", () => {
  const other = makeReplicaSet(makeDeployment("other"), 11);

  test("are those that its ReplicaSets control, oldest first; labels alone are anybody's", () => {
    const pods = [
      makePod("young", { created: "2026-01-01T00:00:09Z" }, second),
      makePod("b", {}, first),
      makePod("a", {}, first),
      makePod("foreign", {}, other),
      makePod("alone"),
    ];
    expect(names(workloadOf(deployment, [first, other, second], pods).pods)).toEqual(["a", "b", "young"]);
  });

  test("have the newest revision by number, not by text", () => {
    expect(workloadOf(deployment, [second, first, other], []).newestRevision).toBe("r10");
  });

  test("are none without a Deployment or a ReplicaSet", () => {
    const nothing = { pods: [], newestRevision: undefined };
    expect(workloadOf(undefined, [first], [makePod("a", {}, first)])).toEqual(nothing);
    expect(workloadOf(deployment, [], [makePod("a", {}, first)])).toEqual(nothing);
  });
});

describe("a pod is live", () => {
  const nodes = [makeNode("n1"), makeNode("n2", "False")];
  const cases: Record<string, [pod: ReturnType<typeof makePod>, live: boolean]> = {
    "when it runs on a ready node, ready or not": [makePod("a"), true],
    "not while it is being deleted": [makePod("a", { deleting: true }), false],
    "not when it was evicted": [makePod("a", { phase: "Failed" }), false],
    "not while its agent waits": [makePod("a", { state: { waiting: {} } }), false],
    "not without an address": [makePod("a", { ips: [] }), false],
    "not on a node that is not ready": [makePod("a", { node: "n2" }), false],
    "not on a node that is gone": [makePod("a", { node: "n3" }), false],
  };
  for (const [title, [pod, live]] of Object.entries(cases)) {
    test(title, () => {
      expect(isLive(pod, nodes)).toBe(live);
    });
  }
});

test("the first address of each family counts, or the single one of an old kubelet", () => {
  expect(addressesOf(makePod("a", { ips: ["fd00::1", "10.1.0.1", "10.1.0.2"] }))).toEqual([
    { family: "IPv4", address: "10.1.0.1" },
    { family: "IPv6", address: "fd00::1" },
  ]);
  const { podIPs: _podIPs, ...status } = makePod("a").status ?? {};
  expect(addressesOf({ ...makePod("a"), status: { ...status, podIP: "10.1.0.9" } })).toEqual([
    { family: "IPv4", address: "10.1.0.9" },
  ]);
});

describe("probed are", () => {
  const status = {
    ...{ observedGeneration: 3, conditions: [] },
    ...{ replicas: 1, liveReplicas: 1, readyReplicas: 1, updatedReplicas: 1 },
  };
  const pods = [
    makePod("a"),
    makePod("b", { ips: ["fd00::2"] }),
    makePod("c", { ips: [] }),
    makePod("d", { deleting: true }),
  ];

  test("the active pod and the standbys that have an address, on the health port of their template", () => {
    const podTemplate = { distributeByNodes: true, hostNetwork: true, healthPort: 18080 };
    const proxy = makeProxy({ podTemplate }, { status: { ...status, activePod: "b" } });
    const of = proxy.metadata.uid;
    expect(podsToProbe({ proxy, pods })).toEqual([
      { podUid: "uid-of-a", host: "10.1.0.1", port: 18080, of, isActive: false },
      { podUid: "uid-of-b", host: "fd00::2", port: 18080, of, isActive: true },
    ]);
  });

  test("each pod on the port of its own template, when that was changed", () => {
    const older = makePod("a");
    older.metadata.annotations = { "netaminity.exeteres.net/health-port": "8080" };
    const podTemplate = { distributeByNodes: true, hostNetwork: false, healthPort: 9090 };
    const ports = podsToProbe({ proxy: makeProxy({ podTemplate }), pods: [older, makePod("b", { ips: ["fd00::2"] })] });
    expect(ports.map(({ port }) => port)).toEqual([8080, 9090]);
  });

  test("none while there is no second pod", () => {
    expect(podsToProbe({ proxy: makeProxy(), pods: pods.slice(0, 1) })).toEqual([]);
  });
});
