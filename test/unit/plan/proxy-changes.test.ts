import { describe, expect, test } from "bun:test";
import { planProxy } from "../../../src/plan/proxy.ts";
import { makePod, makeProxy, makeService, makeSlice, now } from "../../support/objects.ts";
import { failure, makeProxyInput, pod, proxy } from "../../support/proxy-input.ts";

const refOf = (kind: string, name: string, apiVersion = "v1") => ({
  ...{ apiVersion, kind, namespace: "demo", name },
  uid: `uid-of-${name}`,
});

describe("the rendezvous of a Proxy", () => {
  test("moves to a standby, and an event says why", () => {
    const pods = [pod("edge-a", { deleting: true, ready: true }), pod("edge-b")];
    const plan = planProxy(makeProxyInput({ pods, endpointSlices: [makeSlice(proxy, pod("edge-a"))] }));
    expect(plan.status.activePod).toBe("edge-b");
    expect(plan.events).toContainEqual({
      type: "Normal",
      reason: "ActivePodChanged",
      message: "the rendezvous leads to pod edge-b now: edge-a is being deleted",
    });
  });

  test("ends when no pod is left: the slices are removed, and an event warns", () => {
    const plan = planProxy(makeProxyInput({ pods: [], endpointSlices: [makeSlice(proxy, pod("edge-a"))] }));
    expect(plan.remove).toEqual([refOf("EndpointSlice", "edge-rendezvous-ipv4", "discovery.k8s.io/v1")]);
    expect(plan.events).toContainEqual({
      type: "Warning",
      reason: "ActivePodLost",
      message: "edge-a is gone, and no other proxy pod runs",
    });
  });

  test("never leads to a pod that only carries its labels", () => {
    const stranger = makePod("stranger", { ready: true });
    const plan = planProxy(makeProxyInput({ pods: [stranger], endpointSlices: [] }));
    expect("activePod" in plan.status).toBe(false);
  });

  test("is read from no slice of somebody else", () => {
    const foreign = { ...makeSlice(proxy, pod("edge-b")), metadata: { name: "x", uid: "x", ownerReferences: [] } };
    expect(planProxy(makeProxyInput({ endpointSlices: [foreign] })).status.activePod).toBe("edge-a");
  });
});

test("a lost pod that Kubernetes still calls ready is deleted, and an event says so", () => {
  const [lost, active] = [pod("edge-a", { ready: true }), pod("edge-b", { ready: true })];
  const probes = [
    { podUid: lost.metadata.uid, healthy: false, failures: 3 },
    { podUid: active.metadata.uid, healthy: true, failures: 0 },
  ];
  const plan = planProxy(makeProxyInput({ pods: [lost, active], probes, endpointSlices: [makeSlice(proxy, active)] }));
  expect(plan.remove).toEqual([refOf("Pod", "edge-a")]);
  expect(plan.events).toContainEqual({
    type: "Warning",
    reason: "SilentPodDeleted",
    message: "pod edge-a does not answer though Kubernetes calls it ready; it was replaced by edge-b and is deleted",
  });
});

describe("pruning", () => {
  const oldService = makeService("old-name", { owner: proxy });

  test("removes the consumer Service of an earlier name", () => {
    expect(planProxy(makeProxyInput({ services: [oldService] })).remove).toEqual([refOf("Service", "old-name")]);
  });

  test("spares it while the new one cannot be made", () => {
    const failures = [failure("name-conflict", "api", "it exists already")];
    const plan = planProxy(makeProxyInput({ services: [oldService], failures }));
    expect(plan.remove).toEqual([]);
    expect(plan.requeueAfter).toBe(30_000);
  });

  test("leaves what belongs to others, and what is being deleted already", () => {
    const foreign = makeService("other", { owner: makeProxy({}, { name: "else", uid: "else" }) });
    const deleting = makeService("older", { owner: proxy, deletionTimestamp: now });
    expect(planProxy(makeProxyInput({ services: [foreign, deleting] })).remove).toEqual([]);
  });
});

test("a taken node port is tried again soon, because ports move from pair to pair", () => {
  const failures = [failure("port-conflict", "edge-rendezvous", "provided port is already allocated")];
  expect(planProxy(makeProxyInput({ failures })).requeueAfter).toBe(2_000);
});
