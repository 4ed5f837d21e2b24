import { describe, expect, test } from "bun:test";
import type { Condition } from "../../../src/api/conditions.ts";
import type { ProxyResource, ProxyStatus } from "../../../src/api/proxy.ts";
import type { TargetResource } from "../../../src/api/target.ts";
import type { TunnelSpec } from "../../../src/api/tunnel.ts";
import { withHash } from "../../../src/desired/applied.ts";
import { tunnelConsumerService } from "../../../src/desired/consumer-service.ts";
import type { DesiredObject } from "../../../src/desired/desired.ts";
import { pairProxy, pairTarget } from "../../../src/desired/pair.ts";
import type { TunnelInput } from "../../../src/plan/observed.ts";
import { planTunnel } from "../../../src/plan/tunnel.ts";
import {
  earlier,
  makeProxy,
  makeSecret,
  makeService,
  makeTarget,
  makeTunnel,
  now,
  settings,
} from "../../support/objects.ts";

const tunnel = makeTunnel({ replicas: 2 });
const freshSecret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

const condition = (type: string, status: Condition["status"], reason: string, message = "because"): Condition => ({
  ...{ type, status, reason, message },
  lastTransitionTime: earlier,
  observedGeneration: 3,
});
const proxyStatus = (conditions: Condition[], proxyEndpoint?: string): ProxyStatus => ({
  observedGeneration: 3,
  conditions,
  ...(proxyEndpoint !== undefined && { proxyEndpoint }),
  ...{ replicas: 1, liveReplicas: 1, readyReplicas: 1, updatedReplicas: 1 },
});
const goodProxy = [
  condition("Ready", "True", "Available"),
  condition("Connected", "True", "SessionUp"),
  condition("Updated", "True", "UpToDate"),
];
const goodTarget = [condition("Ready", "True", "SessionUp"), condition("Updated", "True", "UpToDate")];
const endpointOf = (index: number) => `api-${index}-rendezvous.demo.svc:7835`;
const applied = (desired: DesiredObject) => ({
  owner: tunnel,
  annotations: withHash(desired).metadata.annotations ?? {},
});

function proxyOf(index: number, status?: ProxyStatus): ProxyResource {
  const wanted = pairProxy(tunnel, index);
  return makeProxy(wanted.spec, {
    ...applied(wanted),
    name: wanted.metadata.name,
    status: status ?? proxyStatus(goodProxy, endpointOf(index)),
  });
}

function targetOf(index: number, conditions = goodTarget, endpoint = endpointOf(index)): TargetResource {
  const wanted = pairTarget(tunnel, index, endpoint);
  const status = { observedGeneration: 3, conditions, replicas: 1, readyReplicas: 1, updatedReplicas: 1 };
  return makeTarget(wanted.spec, { ...applied(wanted), name: wanted.metadata.name, status });
}

/** At rest: two pairs that carry traffic. */
const makeInput = (change: Partial<TunnelInput> = {}): TunnelInput => ({
  tunnel,
  settings,
  now,
  failures: [],
  secret: makeSecret(undefined, { name: "api-secret", owner: tunnel }),
  freshSecret,
  services: [makeService("api", applied(tunnelConsumerService(tunnel)))],
  proxies: [proxyOf(0), proxyOf(1)],
  targets: [targetOf(0), targetOf(1)],
  ...change,
});

const named = (objects: readonly { kind: string; metadata: { name: string } }[]) =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

function verdict(input: TunnelInput, type = "Ready") {
  const found = planTunnel(input).status.conditions.find((each) => each.type === type);
  return [found?.status, found?.reason, found?.message];
}

describe("a Tunnel at rest", () => {
  test("has its Secret, one consumer Service and its pairs, and all carry traffic", () => {
    const plan = planTunnel(makeInput());
    expect(named(plan.apply)).toEqual([
      "Secret api-secret",
      "Service api",
      "Proxy api-0",
      "Target api-0",
      "Proxy api-1",
      "Target api-1",
    ]);
    expect({ create: plan.create, remove: plan.remove }).toEqual({ create: [], remove: [] });
    expect(plan.status).toEqual({
      observedGeneration: 3,
      conditions: [
        { ...condition("Ready", "True", "AllPairsReady", "2 of 2 pairs carry traffic"), lastTransitionTime: now },
        {
          ...condition("Updated", "True", "UpToDate", "all pods and Services are up to date"),
          lastTransitionTime: now,
        },
      ],
      consumerEndpoint: "api.demo.svc:30080",
      ...{ replicas: 2, readyReplicas: 2, readyProxyReplicas: 2, readyTargetReplicas: 2 },
      replicasStatus: [0, 1].map((index) => ({
        index,
        proxy: `api-${index}`,
        target: `api-${index}`,
        endpoint: endpointOf(index),
        ready: true,
      })),
    });
  });

  test("applies its Secret without data, so that a secret that is in use is never overwritten", () => {
    const [secret] = planTunnel(makeInput()).apply;
    expect(Object.keys(secret ?? {})).toEqual(["apiVersion", "kind", "metadata"]);
  });
});

describe("a new Tunnel", () => {
  const plan = planTunnel(makeInput({ secret: undefined, services: [], proxies: [], targets: [] }));

  test("creates its Secret from the random bytes", () => {
    expect(plan.create).toMatchObject([
      { kind: "Secret", metadata: { name: "api-secret" }, data: { secret: btoa(freshSecret) } },
    ]);
  });

  test("makes the Proxies first: Targets need to know where they are", () => {
    expect(named(plan.apply)).toEqual(["Service api", "Proxy api-0", "Proxy api-1"]);
  });

  test("says what it waits for, and reports nothing", () => {
    expect(plan.status.conditions[0]).toMatchObject({
      status: "False",
      reason: "PairsWaiting",
      message: "0 of 2 pairs carry traffic; pair 0: its Proxy is being made",
    });
    expect(plan.events).toEqual([]);
  });
});

describe("a pair waits", () => {
  const notReady = (reason: string) => [condition("Ready", "False", reason)];
  const cases: Record<string, [proxy: ProxyResource, targets: TargetResource[], message: string, reason: string]> = {
    "for a Proxy that was just made": [proxyOf(0, proxyStatus([])), [], "Proxy api-0 was just made", "PairsWaiting"],
    "for the load balancer of its Proxy": [
      proxyOf(0, proxyStatus(notReady("EndpointPending"))),
      [],
      "Proxy api-0: EndpointPending: because",
      "PairsWaiting",
    ],
    "for a Proxy with a problem": [
      proxyOf(0, proxyStatus(notReady("ProxyHostMissing"))),
      [],
      "Proxy api-0: ProxyHostMissing: because",
      "PairsNotReady",
    ],
    "for its Target to be made": [proxyOf(0), [], "its Target is being made", "PairsWaiting"],
    "for its Target to connect": [
      proxyOf(0),
      [targetOf(0, notReady("Connecting"))],
      "Target api-0: Connecting: because",
      "PairsWaiting",
    ],
    "for a Target with a problem": [
      proxyOf(0),
      [targetOf(0, notReady("PodsFailing"))],
      "Target api-0: PodsFailing: because",
      "PairsNotReady",
    ],
    "for its Proxy to see the session": [
      proxyOf(
        0,
        proxyStatus([...goodProxy.slice(0, 1), condition("Connected", "False", "WaitingForTarget")], endpointOf(0)),
      ),
      [targetOf(0)],
      "Proxy api-0: WaitingForTarget: because",
      "PairsWaiting",
    ],
  };
  for (const [title, [proxy, targets, message, reason]] of Object.entries(cases)) {
    test(title, () => {
      const input = makeInput({
        tunnel: { ...tunnel, spec: { ...tunnel.spec, replicas: 1 } },
        proxies: [proxy],
        targets,
      });
      expect(planTunnel(input).status.replicasStatus[0]).toMatchObject({ ready: false, message });
      expect(verdict(input)).toEqual(["False", reason, `0 of 1 pair carries traffic; pair 0: ${message}`]);
    });
  }
});

describe("a Tunnel", () => {
  test("names the pair with a problem before one that only starts", () => {
    const proxies = [
      proxyOf(0, proxyStatus([])),
      proxyOf(1, proxyStatus([condition("Ready", "False", "PortConflict", "taken")])),
    ];
    expect(verdict(makeInput({ proxies, targets: [] }))).toEqual([
      "False",
      "PairsNotReady",
      "0 of 2 pairs carry traffic; pair 1: Proxy api-1: PortConflict: taken",
    ]);
  });

  test("of no pairs is scaled to zero: its pairs go, its Secret and Service stay", () => {
    const plan = planTunnel(makeInput({ tunnel: { ...tunnel, spec: { ...tunnel.spec, replicas: 0 } } }));
    expect(named(plan.apply)).toEqual(["Secret api-secret", "Service api"]);
    expect(named(plan.remove.map(({ kind, name }) => ({ kind, metadata: { name } })))).toEqual([
      "Proxy api-0",
      "Proxy api-1",
      "Target api-0",
      "Target api-1",
    ]);
    expect(plan.status.conditions[0]).toMatchObject({ status: "False", reason: "ScaledToZero" });
  });

  test("that is scaled down removes the highest indexes only", () => {
    const plan = planTunnel(makeInput({ tunnel: { ...tunnel, spec: { ...tunnel.spec, replicas: 1 } } }));
    expect(plan.remove).toEqual([
      {
        apiVersion: "netaminity.exeteres.net/v1",
        kind: "Proxy",
        namespace: "demo",
        name: "api-1",
        uid: "uid-of-api-1",
      },
      {
        apiVersion: "netaminity.exeteres.net/v1",
        kind: "Target",
        namespace: "demo",
        name: "api-1",
        uid: "uid-of-api-1",
      },
    ]);
  });

  test("whose Service was renamed removes the old one", () => {
    const renamed = { ...tunnel, spec: { ...tunnel.spec, service: { name: "new-api", port: 80 } } };
    const plan = planTunnel(makeInput({ tunnel: renamed }));
    expect(named(plan.apply)).toContain("Service new-api");
    expect(plan.remove.map(({ name }) => name)).toEqual(["api"]);
    expect(plan.status.consumerEndpoint).toBe("new-api.demo.svc:80");
  });

  test("keeps a Target's endpoint while that of its Proxy is unknown", () => {
    const proxies = [proxyOf(0, proxyStatus([condition("Ready", "False", "EndpointPending")])), proxyOf(1)];
    const plan = planTunnel(makeInput({ proxies }));
    const target = plan.apply.find(({ kind, metadata }) => kind === "Target" && metadata.name === "api-0");
    expect(target).toMatchObject({ spec: { proxyEndpoint: endpointOf(0) } });
    expect(plan.remove).toEqual([]);
  });

  test("points a Target at the new endpoint of its Proxy", () => {
    const proxies = [proxyOf(0, proxyStatus(goodProxy, "lb.example.net:7835")), proxyOf(1)];
    const target = planTunnel(makeInput({ proxies })).apply.find(({ kind }) => kind === "Target");
    expect(target).toMatchObject({ metadata: { name: "api-0" }, spec: { proxyEndpoint: "lb.example.net:7835" } });
  });

  test("makes no pair from a Secret that belongs to somebody else, and removes none", () => {
    const secret = makeSecret(undefined, { name: "api-secret" });
    const plan = planTunnel(makeInput({ secret }));
    expect(named(plan.apply)).toEqual(["Secret api-secret", "Service api"]);
    expect({ create: plan.create, remove: plan.remove }).toEqual({ create: [], remove: [] });
  });

  test("leaves Proxies and Targets of others alone", () => {
    const stranger = { ...proxyOf(1), metadata: { ...proxyOf(1).metadata, ownerReferences: [] } };
    const plan = planTunnel(
      makeInput({ tunnel: { ...tunnel, spec: { ...tunnel.spec, replicas: 1 } }, proxies: [proxyOf(0), stranger] }),
    );
    expect(plan.remove.map(({ kind, name }) => `${kind} ${name}`)).toEqual(["Target api-1"]);
  });

  test("says when its Secret is unusable", () => {
    const secret = makeSecret({}, { name: "api-secret", owner: tunnel });
    expect(verdict(makeInput({ secret }))).toEqual(["False", "SecretInvalid", "Secret api-secret has no key secret"]);
  });

  test("says when a name is taken, and tries again without a change", () => {
    const object = { apiVersion: "v1", kind: "Service", name: "api" };
    const input = makeInput({ failures: [{ kind: "name-conflict", object, message: "it exists already" }] });
    expect(verdict(input)).toEqual(["False", "NameConflict", "Service api: it exists already"]);
    expect(planTunnel(input).requeueAfter).toBe(30_000);
  });
});

describe("a Tunnel is not Updated", () => {
  const changes: Record<string, Partial<TunnelSpec>> = {
    "when its backend is another": { target: { ...tunnel.spec.target, endpoint: "other:1" } },
    "when its proxies are to be more": { proxy: { ...tunnel.spec.proxy, replicas: 2 } },
    "when its podTemplate is another": { podTemplate: { distributeByNodes: false, hostNetwork: false } },
  };
  for (const [title, change] of Object.entries(changes)) {
    test(`${title} than its children were made from`, () => {
      const input = makeInput({ tunnel: { ...tunnel, spec: { ...tunnel.spec, ...change } } });
      expect(verdict(input, "Updated")).toEqual(["False", "RollingOut", "0 of 2 pairs are up to date"]);
    });
  }

  test("while a child has not looked at its newest spec", () => {
    const behind = { ...proxyOf(0), metadata: { ...proxyOf(0).metadata, generation: 4 } };
    expect(verdict(makeInput({ proxies: [behind, proxyOf(1)] }), "Updated")[2]).toBe("1 of 2 pairs are up to date");
  });
});
