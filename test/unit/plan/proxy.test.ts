import { describe, expect, test } from "bun:test";
import type { Condition } from "../../../src/api/conditions.ts";
import type { ProxyStatus } from "../../../src/api/proxy.ts";
import type { ObservedPod, ProxyInput } from "../../../src/plan/observed.ts";
import { planProxy } from "../../../src/plan/proxy.ts";
import {
  earlier,
  makeNode,
  makePod,
  makeProxy,
  makeReplicaSet,
  makeSecret,
  makeSlice,
  now,
} from "../../support/objects.ts";
import { deploymentOf, failure, makeProxyInput, pod, proxy, replicaSet } from "../../support/proxy-input.ts";

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
  secretName: "shared",
  activePod: "edge-a",
  replicas: 2,
  liveReplicas: 2,
  readyReplicas: 1,
  updatedReplicas: 2,
  selector: "app.kubernetes.io/component=proxy,netaminity.exeteres.net/proxy=edge",
};

/** Reason and message of one condition. */
function verdict(input: ProxyInput, type: string) {
  const found = planProxy(input).status.conditions.find((each) => each.type === type);
  return [found?.status, found?.reason, found?.message];
}

describe("a Proxy at rest", () => {
  test("needs its Services, one slice and its Deployment, and says where everybody connects", () => {
    const plan = planProxy(makeProxyInput());
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
    const plan = planProxy(makeProxyInput({ proxy: { ...proxy, status } }));
    expect(plan.status).toEqual(status);
    expect(plan.events).toEqual([]);
  });

  test("of a Tunnel has no consumer Service of its own", () => {
    const { service: _service, ...spec } = proxy.spec;
    const plan = planProxy(makeProxyInput({ proxy: { ...proxy, spec } }));
    expect(plan.apply.map(({ metadata }) => metadata.name)).not.toContain("api");
    expect("consumerEndpoint" in plan.status).toBe(false);
  });

  test("keeps an agent's last container id while the agent is down, so that its return counts as a restart", () => {
    const down = pod("edge-a", { state: { waiting: { reason: "CrashLoopBackOff" } } });
    const plan = planProxy(makeProxyInput({ pods: [down], endpointSlices: [makeSlice(proxy, down)] }));
    const slice = plan.apply.find(({ kind }) => kind === "EndpointSlice");
    expect(slice?.metadata.annotations).toEqual({ "netaminity.exeteres.net/active-container": "edge-a-1" });
  });

  test("gets one slice for each address family of the active pod", () => {
    const dual = pod("edge-a", { ready: true, ips: ["10.1.0.1", "fd00::1"] });
    const slices = planProxy(makeProxyInput({ pods: [dual] })).apply.filter(({ kind }) => kind === "EndpointSlice");
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
      "Secret shared, key secret: it is empty",
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
      expect(verdict(makeProxyInput(change), "Ready")).toEqual(["False", reason, message]);
    });
  }
});

describe("a Proxy is Ready", () => {
  test("without any session, because the Target is made from the endpoint that it announces", () => {
    const input = makeProxyInput({ pods: [pod("edge-a")] });
    expect(verdict(input, "Ready")).toEqual(["True", "Available", available.message]);
    expect(verdict(input, "Connected")).toEqual([
      "False",
      "WaitingForTarget",
      "no target has a session yet; its proxyEndpoint at edge-rendezvous.demo.svc:7835 and its secret must be those of this Proxy",
    ]);
  });

  test("though the operator may not read nodes", () => {
    expect(verdict(makeProxyInput({ nodes: undefined }), "Ready")[0]).toBe("True");
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
    expect(verdict(makeProxyInput({ pods: [a, b], probes }), "Connected").slice(0, 2)).toEqual([
      "False",
      "WaitingForTarget",
    ]);
  });

  test("when the operator reaches no pod at all", () => {
    const probes = [probe(a, false), probe(b, false)];
    expect(verdict(makeProxyInput({ pods: [a, b], probes }), "Connected").slice(0, 2)).toEqual(["True", "SessionUp"]);
  });

  test("not for the reason why it is not Ready either", () => {
    const input = makeProxyInput({ pods: [], endpointSlices: [], secret: undefined });
    expect(verdict(input, "Connected")).toEqual(verdict(input, "Ready"));
  });
});

describe("a Proxy is Updated", () => {
  test("not before its Deployment is the one that is wanted", () => {
    const changed = makeProxy({ ...proxy.spec, drainTimeout: "5m" });
    const input = { ...makeProxyInput(), proxy: changed };
    expect(verdict(input, "Updated")).toEqual(["False", "RollingOut", "the change is being made"]);
  });

  test("not while a pod of an older revision is there", () => {
    const next = makeReplicaSet(deploymentOf(proxy), 2);
    const pods = [pod("edge-a", { ready: true }), makePod("edge-b", {}, next)];
    const input = makeProxyInput({ pods, replicaSets: [replicaSet, next] });
    expect(verdict(input, "Updated")).toEqual(["False", "RollingOut", "1 of 2 pods are up to date, 2 exist"]);
  });

  test("not while its newest pods fail, and says how", () => {
    const next = makeReplicaSet(deploymentOf(proxy), 2);
    const broken = makePod("edge-b", { state: { waiting: { reason: "InvalidImageName", message: "bad" } } }, next);
    const input = makeProxyInput({ pods: [pod("edge-a", { ready: true }), broken], replicaSets: [replicaSet, next] });
    expect(verdict(input, "Updated")).toEqual(["False", "PodsFailing", "pod edge-b: InvalidImageName: bad"]);
    expect(verdict(input, "Ready")[0]).toBe("True");
  });
});

describe("a Proxy that names no Secret", () => {
  const { secretRef: _, ...spec } = proxy.spec;
  const unnamed = { ...proxy, spec };
  const input = (secret: ProxyInput["secret"]) => makeProxyInput({ proxy: unnamed, secret });

  test("makes one that goes with it, once, and says its name", () => {
    const plan = planProxy(input(undefined));
    expect(plan.create).toMatchObject([
      {
        kind: "Secret",
        metadata: {
          name: "edge-proxy-secret",
          labels: { "app.kubernetes.io/managed-by": "netaminity", "netaminity.exeteres.net/proxy": "edge" },
          ownerReferences: [{ kind: "Proxy", name: "edge", uid: proxy.metadata.uid, controller: true }],
        },
        data: { secret: btoa("fresh") },
      },
    ]);
    expect(plan.status.secretName).toBe("edge-proxy-secret");
    expect(plan.status.conditions[0]).toMatchObject({ type: "Ready", status: "True" });
    expect(JSON.stringify(plan.apply.find(({ kind }) => kind === "Deployment"))).toContain('"edge-proxy-secret"');
  });

  test("keeps its labels and its owner as they should be, and its data as it is", () => {
    const plan = planProxy(input(makeSecret(undefined, { name: "edge-proxy-secret", owner: unnamed })));
    expect(plan.create).toEqual([]);
    expect(plan.apply[0]).toMatchObject({ kind: "Secret", metadata: { name: "edge-proxy-secret" } });
    expect(plan.apply[0]).not.toHaveProperty("data");
  });

  test("makes no pod from a stranger's, and leaves those that run", () => {
    const plan = planProxy(input(makeSecret(undefined, { name: "edge-proxy-secret" })));
    expect(plan.create).toEqual([]);
    expect(plan.apply.map(({ kind }) => kind)).not.toContain("Deployment");
    expect(plan.remove).toEqual([]);
  });
});
