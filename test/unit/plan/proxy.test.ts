import { describe, expect, test } from "bun:test";
import type { Condition } from "../../../src/api/conditions.ts";
import type { ProxyStatus } from "../../../src/api/proxy.ts";
import { withHash } from "../../../src/desired/applied.ts";
import { proxyDeployment } from "../../../src/desired/proxy-deployment.ts";
import type { ApplyFailure, ObservedDeployment, ObservedPod, ProxyInput } from "../../../src/plan/observed.ts";
import { planProxy } from "../../../src/plan/proxy.ts";
import {
  earlier,
  makeDeployment,
  makeNode,
  makePod,
  makeProxy,
  makeReplicaSet,
  makeSecret,
  makeService,
  makeSlice,
  now,
  type PodFacts,
  settings,
} from "../../support/objects.ts";

const proxy = makeProxy({ replicas: 2, service: { name: "api", port: 5432 } });

/** Everything at rest: two pods, the first active with a session. */
function makeInput(change: Partial<ProxyInput> = {}): ProxyInput {
  const of = change.proxy ?? proxy;
  const deployment = deploymentOf(of);
  const replicaSet = makeReplicaSet(deployment, 1);
  const pods = [makePod("edge-a", { ready: true }, replicaSet), makePod("edge-b", {}, replicaSet)];
  return {
    proxy: of,
    settings,
    now,
    failures: [],
    secret: makeSecret(),
    deployments: [deployment],
    replicaSets: [replicaSet],
    services: [],
    endpointSlices: pods[0] === undefined ? [] : [makeSlice(of, pods[0])],
    pods,
    nodes: [makeNode("n1")],
    probes: [],
    ...change,
  };
}

function deploymentOf(of: typeof proxy, status?: ObservedDeployment["status"]): ObservedDeployment {
  const { annotations = {} } = withHash(proxyDeployment(of, settings.agent)).metadata;
  return makeDeployment("edge-proxy", { owner: of, annotations, ...(status && { status }) });
}

const replicaSet = makeReplicaSet(deploymentOf(proxy), 1);
const pod = (name: string, facts: PodFacts = {}): ObservedPod => makePod(name, facts, replicaSet);
const failure = (kind: ApplyFailure["kind"], object: string, message: string): ApplyFailure => ({
  kind,
  object: { apiVersion: "v1", kind: "Service", name: object },
  message,
});

const condition = (type: string, status: "True" | "False", reason: string, message: string): Condition => ({
  ...{ type, status, reason, message },
  lastTransitionTime: now,
  observedGeneration: 3,
});
const available = condition("Ready", "True", "Available", "targets can connect to edge-rendezvous.demo.svc:7835");
const sessionUp = condition("Connected", "True", "SessionUp", "pod edge-a carries a session and serves consumers");
const upToDate = condition("Updated", "True", "UpToDate", "2 of 2 pods are up to date");

const atRest: ProxyStatus = {
  observedGeneration: 3,
  conditions: [available, sessionUp, upToDate],
  proxyEndpoint: "edge-rendezvous.demo.svc:7835",
  consumerEndpoint: "api.demo.svc:5432",
  activePod: "edge-a",
  replicas: 2,
  liveReplicas: 2,
  readyReplicas: 1,
  updatedReplicas: 2,
};

/** Reason and message of one condition. */
function verdict(input: ProxyInput, type: string) {
  const found = planProxy(input).status.conditions.find((each) => each.type === type);
  return [found?.status, found?.reason, found?.message];
}

const refOf = (kind: string, name: string, apiVersion = "v1") => ({
  ...{ apiVersion, kind, namespace: "demo", name },
  uid: `uid-of-${name}`,
});

describe("a Proxy at rest", () => {
  test("needs its Services, one slice and its Deployment, and says where everybody connects", () => {
    const plan = planProxy(makeInput());
    expect(plan.apply.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      "Service edge-rendezvous",
      "EndpointSlice edge-rendezvous-ipv4",
      "Service api",
      "Deployment edge-proxy",
    ]);
    expect(plan.status).toEqual(atRest);
    expect({ create: plan.create, remove: plan.remove }).toEqual({ create: [], remove: [] });
    expect("requeueAfter" in plan).toBe(false);
  });

  test("reports nothing, and leaves its status as it was, when nothing changed", () => {
    const conditions = atRest.conditions.map((each) => ({ ...each, lastTransitionTime: earlier }));
    const status = { ...atRest, conditions };
    const plan = planProxy(makeInput({ proxy: { ...proxy, status } }));
    expect(plan.status).toEqual(status);
    expect(plan.events).toEqual([]);
  });

  test("of a Tunnel has no consumer Service of its own", () => {
    const { service: _service, ...spec } = proxy.spec;
    const plan = planProxy(makeInput({ proxy: { ...proxy, spec } }));
    expect(plan.apply.map(({ metadata }) => metadata.name)).not.toContain("api");
    expect("consumerEndpoint" in plan.status).toBe(false);
  });

  test("keeps an agent's last container id while the agent is down, so that its return counts as a restart", () => {
    const down = pod("edge-a", { state: { waiting: { reason: "CrashLoopBackOff" } } });
    const plan = planProxy(makeInput({ pods: [down], endpointSlices: [makeSlice(proxy, down)] }));
    const slice = plan.apply.find(({ kind }) => kind === "EndpointSlice");
    expect(slice?.metadata.annotations).toEqual({ "netaminity.exeteres.net/active-container": "edge-a-1" });
  });

  test("gets one slice for each address family of the active pod", () => {
    const dual = pod("edge-a", { ready: true, ips: ["10.1.0.1", "fd00::1"] });
    const slices = planProxy(makeInput({ pods: [dual] })).apply.filter(({ kind }) => kind === "EndpointSlice");
    expect(slices.map(({ metadata }) => metadata.name)).toEqual(["edge-rendezvous-ipv4", "edge-rendezvous-ipv6"]);
  });
});

describe("a Proxy is not Ready", () => {
  const loadBalancer = makeProxy({ proxyService: { type: "LoadBalancer" } });
  const pending = { state: { waiting: {} }, phase: "Pending", ips: [] };
  const cases: Record<string, [change: Partial<ProxyInput>, reason: string, message: string]> = {
    "when an object that it needs belongs to somebody else": [
      { failures: [failure("name-conflict", "api", "it exists already and no controller owns it")] },
      "NameConflict",
      "Service api: it exists already and no controller owns it",
    ],
    "when its node port is taken": [
      { failures: [failure("port-conflict", "edge-rendezvous", "provided port is already allocated")] },
      "PortConflict",
      "Service edge-rendezvous: provided port is already allocated",
    ],
    "when nothing is wanted": [{ proxy: makeProxy({ replicas: 0 }), pods: [] }, "ScaledToZero", "spec.replicas is 0"],
    "without its Secret": [
      { secret: undefined },
      "SecretMissing",
      "Secret shared does not exist; create it with the key secret",
    ],
    "with a Secret that holds nothing": [
      { secret: makeSecret({ secret: "" }) },
      "SecretInvalid",
      "Secret shared: the value of the key secret is empty",
    ],
    "before its load balancer has an address": [
      { proxy: loadBalancer },
      "EndpointPending",
      "the load balancer of Service edge-rendezvous has no address yet",
    ],
    "while its pods are only starting": [
      { pods: [pod("edge-a", pending)], endpointSlices: [] },
      "PodsStarting",
      "no proxy pod runs yet",
    ],
    "when its pods cannot start": [
      {
        pods: [pod("edge-a", { ...pending, state: { waiting: { reason: "InvalidImageName", message: "bad" } } })],
        endpointSlices: [],
      },
      "PodsFailing",
      "pod edge-a: InvalidImageName: bad",
    ],
    "when no pod can be made": [
      {
        pods: [],
        endpointSlices: [],
        deployments: [
          deploymentOf(proxy, {
            conditions: [{ type: "ReplicaFailure", status: "True", message: "exceeded quota: small" }],
          }),
        ],
      },
      "PodsFailing",
      "pods cannot be made: exceeded quota: small",
    ],
    "when its only pod is on a lost node": [
      { pods: [pod("edge-a", { ready: true })], nodes: [makeNode("n1", "Unknown")] },
      "NodeNotReady",
      "proxy pod edge-a is on node n1, which is not ready, and no other pod can take over",
    ],
  };
  for (const [title, [change, reason, message]] of Object.entries(cases)) {
    test(title, () => {
      expect(verdict(makeInput(change), "Ready")).toEqual(["False", reason, message]);
    });
  }
});

describe("a Proxy is Ready", () => {
  test("without any session, because the Target is made from the endpoint that it announces", () => {
    const input = makeInput({ pods: [pod("edge-a")] });
    expect(verdict(input, "Ready")).toEqual(["True", "Available", available.message]);
    expect(verdict(input, "Connected")).toEqual([
      "False",
      "WaitingForTarget",
      "no target has a session yet; its proxyEndpoint at edge-rendezvous.demo.svc:7835 and its secret must be those of this Proxy",
    ]);
  });

  test("though the operator may not read nodes", () => {
    expect(verdict(makeInput({ nodes: undefined }), "Ready")[0]).toBe("True");
  });
});

describe("a Proxy is Connected", () => {
  const [a, b] = [pod("edge-a", { ready: true }), pod("edge-b")];
  const probe = (of: ObservedPod, healthy: boolean) => ({
    ...{ podUid: of.metadata.uid, healthy },
    failures: healthy ? 0 : 3,
  });

  test("not when the pod with the session is silent while others answer", () => {
    const probes = [probe(a, false), probe(b, true)];
    expect(verdict(makeInput({ pods: [a, b], probes }), "Connected").slice(0, 2)).toEqual([
      "False",
      "WaitingForTarget",
    ]);
  });

  test("when the operator reaches no pod at all", () => {
    const probes = [probe(a, false), probe(b, false)];
    expect(verdict(makeInput({ pods: [a, b], probes }), "Connected").slice(0, 2)).toEqual(["True", "SessionUp"]);
  });

  test("not for the reason why it is not Ready either", () => {
    const input = makeInput({ pods: [], endpointSlices: [], secret: undefined });
    expect(verdict(input, "Connected")).toEqual(verdict(input, "Ready"));
  });
});

describe("a Proxy is Updated", () => {
  test("not before its Deployment is the one that is wanted", () => {
    const changed = makeProxy({ ...proxy.spec, drainTimeout: "5m" });
    const input = { ...makeInput(), proxy: changed };
    expect(verdict(input, "Updated")).toEqual(["False", "RollingOut", "the change is being made"]);
  });

  test("not while a pod of an older revision is there", () => {
    const next = makeReplicaSet(deploymentOf(proxy), 2);
    const pods = [pod("edge-a", { ready: true }), makePod("edge-b", {}, next)];
    const input = makeInput({ pods, replicaSets: [replicaSet, next] });
    expect(verdict(input, "Updated")).toEqual(["False", "RollingOut", "1 of 2 pods are up to date, 2 exist"]);
  });

  test("not while its newest pods fail, and says how", () => {
    const next = makeReplicaSet(deploymentOf(proxy), 2);
    const broken = makePod("edge-b", { state: { waiting: { reason: "InvalidImageName", message: "bad" } } }, next);
    const input = makeInput({ pods: [pod("edge-a", { ready: true }), broken], replicaSets: [replicaSet, next] });
    expect(verdict(input, "Updated")).toEqual(["False", "PodsFailing", "pod edge-b: InvalidImageName: bad"]);
    expect(verdict(input, "Ready")[0]).toBe("True");
  });
});

describe("the rendezvous of a Proxy", () => {
  test("moves to a standby, and an event says why", () => {
    const pods = [pod("edge-a", { deleting: true, ready: true }), pod("edge-b")];
    const plan = planProxy(makeInput({ pods, endpointSlices: [makeSlice(proxy, pod("edge-a"))] }));
    expect(plan.status.activePod).toBe("edge-b");
    expect(plan.events).toContainEqual({
      type: "Normal",
      reason: "ActivePodChanged",
      message: "the rendezvous leads to pod edge-b now: edge-a is being deleted",
    });
  });

  test("ends when no pod is left: the slices are removed, and an event warns", () => {
    const plan = planProxy(makeInput({ pods: [], endpointSlices: [makeSlice(proxy, pod("edge-a"))] }));
    expect(plan.remove).toEqual([refOf("EndpointSlice", "edge-rendezvous-ipv4", "discovery.k8s.io/v1")]);
    expect(plan.events).toContainEqual({
      type: "Warning",
      reason: "ActivePodLost",
      message: "edge-a is gone, and no other proxy pod runs",
    });
  });

  test("never leads to a pod that only carries its labels", () => {
    const stranger = makePod("stranger", { ready: true });
    const plan = planProxy(makeInput({ pods: [stranger], endpointSlices: [] }));
    expect("activePod" in plan.status).toBe(false);
  });

  test("is read from no slice of somebody else", () => {
    const foreign = { ...makeSlice(proxy, pod("edge-b")), metadata: { name: "x", uid: "x", ownerReferences: [] } };
    expect(planProxy(makeInput({ endpointSlices: [foreign] })).status.activePod).toBe("edge-a");
  });
});

test("a lost pod that Kubernetes still calls ready is deleted, and an event says so", () => {
  const [lost, active] = [pod("edge-a", { ready: true }), pod("edge-b", { ready: true })];
  const probes = [
    { podUid: lost.metadata.uid, healthy: false, failures: 3 },
    { podUid: active.metadata.uid, healthy: true, failures: 0 },
  ];
  const plan = planProxy(makeInput({ pods: [lost, active], probes, endpointSlices: [makeSlice(proxy, active)] }));
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
    expect(planProxy(makeInput({ services: [oldService] })).remove).toEqual([refOf("Service", "old-name")]);
  });

  test("spares it while the new one cannot be made", () => {
    const failures = [failure("name-conflict", "api", "it exists already")];
    const plan = planProxy(makeInput({ services: [oldService], failures }));
    expect(plan.remove).toEqual([]);
    expect(plan.requeueAfter).toBe(30_000);
  });

  test("leaves what belongs to others, and what is being deleted already", () => {
    const foreign = makeService("other", { owner: makeProxy({}, { name: "else", uid: "else" }) });
    const deleting = makeService("older", { owner: proxy, deletionTimestamp: now });
    expect(planProxy(makeInput({ services: [foreign, deleting] })).remove).toEqual([]);
  });
});

test("a taken node port is tried again soon, because ports move from pair to pair", () => {
  const failures = [failure("port-conflict", "edge-rendezvous", "provided port is already allocated")];
  expect(planProxy(makeInput({ failures })).requeueAfter).toBe(2_000);
});
