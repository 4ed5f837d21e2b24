import { describe, expect, test } from "bun:test";
import type { TunnelSpec } from "../../../src/api/tunnel.ts";
import type { TunnelInput } from "../../../src/plan/observed.ts";
import { planTunnel } from "../../../src/plan/tunnel.ts";
import { makeSecret, now } from "../../support/objects.ts";
import {
  condition,
  endpointOf,
  freshSecret,
  goodProxy,
  makeTunnelInput,
  proxyOf,
  proxyStatus,
  tunnel,
} from "../../support/tunnel-input.ts";

const named = (objects: readonly { kind: string; metadata: { name: string } }[]) =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

function verdict(input: TunnelInput, type = "Ready") {
  const found = planTunnel(input).status.conditions.find((each) => each.type === type);
  return [found?.status, found?.reason, found?.message];
}

describe("a Tunnel at rest", () => {
  test("has its Secret, one consumer Service and its pairs, and all carry traffic", () => {
    const plan = planTunnel(makeTunnelInput());
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
        { ...condition("Available", "True", "AllPairsReady", "2 of 2 pairs carry traffic"), lastTransitionTime: now },
        {
          ...condition("Updated", "True", "UpToDate", "all pods and Services are up to date"),
          lastTransitionTime: now,
        },
      ],
      consumerEndpoint: "api.demo.svc:30080",
      ...{ replicas: 2, readyReplicas: 2, readyProxyReplicas: 2, readyTargetReplicas: 2 },
      selector: "app.kubernetes.io/component=target,netaminity.exeteres.net/tunnel=api",
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
    const [secret] = planTunnel(makeTunnelInput()).apply;
    expect(Object.keys(secret ?? {})).toEqual(["apiVersion", "kind", "metadata"]);
  });
});

describe("a new Tunnel", () => {
  const plan = planTunnel(makeTunnelInput({ secret: undefined, services: [], proxies: [], targets: [] }));

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

describe("a Tunnel", () => {
  test("names the pair with a problem before one that only starts", () => {
    const proxies = [
      proxyOf(0, proxyStatus([])),
      proxyOf(1, proxyStatus([condition("Ready", "False", "PortConflict", "taken")])),
    ];
    expect(verdict(makeTunnelInput({ proxies, targets: [] }))).toEqual([
      "False",
      "PairsNotReady",
      "0 of 2 pairs carry traffic; pair 1: Proxy api-1: PortConflict: taken",
    ]);
  });

  test("of no pairs is scaled to zero: its pairs go, its Secret and Service stay", () => {
    const plan = planTunnel(makeTunnelInput({ tunnel: { ...tunnel, spec: { ...tunnel.spec, replicas: 0 } } }));
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
    const plan = planTunnel(makeTunnelInput({ tunnel: { ...tunnel, spec: { ...tunnel.spec, replicas: 1 } } }));
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
    const plan = planTunnel(makeTunnelInput({ tunnel: renamed }));
    expect(named(plan.apply)).toContain("Service new-api");
    expect(plan.remove.map(({ name }) => name)).toEqual(["api"]);
    expect(plan.status.consumerEndpoint).toBe("new-api.demo.svc:80");
  });

  test("keeps a Target's endpoint while that of its Proxy is unknown", () => {
    const proxies = [proxyOf(0, proxyStatus([condition("Ready", "False", "EndpointPending")])), proxyOf(1)];
    const plan = planTunnel(makeTunnelInput({ proxies }));
    const target = plan.apply.find(({ kind, metadata }) => kind === "Target" && metadata.name === "api-0");
    expect(target).toMatchObject({ spec: { proxyEndpoint: endpointOf(0) } });
    expect(plan.remove).toEqual([]);
  });

  test("points a Target at the new endpoint of its Proxy", () => {
    const proxies = [proxyOf(0, proxyStatus(goodProxy, "lb.example.net:7835")), proxyOf(1)];
    const target = planTunnel(makeTunnelInput({ proxies })).apply.find(({ kind }) => kind === "Target");
    expect(target).toMatchObject({ metadata: { name: "api-0" }, spec: { proxyEndpoint: "lb.example.net:7835" } });
  });

  test("makes no pair from a Secret that belongs to somebody else, and removes none", () => {
    const secret = makeSecret(undefined, { name: "api-secret" });
    const plan = planTunnel(makeTunnelInput({ secret }));
    expect(named(plan.apply)).toEqual(["Secret api-secret", "Service api"]);
    expect({ create: plan.create, remove: plan.remove }).toEqual({ create: [], remove: [] });
  });

  test("leaves Proxies and Targets of others alone", () => {
    const stranger = { ...proxyOf(1), metadata: { ...proxyOf(1).metadata, ownerReferences: [] } };
    const plan = planTunnel(
      makeTunnelInput({
        tunnel: { ...tunnel, spec: { ...tunnel.spec, replicas: 1 } },
        proxies: [proxyOf(0), stranger],
      }),
    );
    expect(plan.remove.map(({ kind, name }) => `${kind} ${name}`)).toEqual(["Target api-1"]);
  });

  test("says when its Secret is unusable", () => {
    const secret = makeSecret({}, { name: "api-secret", owner: tunnel });
    expect(verdict(makeTunnelInput({ secret }))).toEqual([
      "False",
      "SecretInvalid",
      "Secret api-secret has no key secret",
    ]);
  });

  test("says when a name is taken, and tries again without a change", () => {
    const object = { apiVersion: "v1", kind: "Service", name: "api" };
    const input = makeTunnelInput({ failures: [{ kind: "name-conflict", object, message: "it exists already" }] });
    expect(verdict(input)).toEqual(["False", "NameConflict", "Service api: it exists already"]);
    expect(planTunnel(input).requeueAfter).toBe(30_000);
  });
});

describe("a Tunnel is not Updated", () => {
  const changes: Record<string, Partial<TunnelSpec>> = {
    "when its backend is another": { target: { ...tunnel.spec.target, endpoint: "other:1" } },
    "when it is to be encrypted": { encryption: "required" },
    "when its proxies are to be more": { proxy: { ...tunnel.spec.proxy, replicas: 2 } },
    "when its podTemplate is another": { podTemplate: { distributeByNodes: false, hostNetwork: false } },
  };
  for (const [title, change] of Object.entries(changes)) {
    test(`${title} than its children were made from`, () => {
      const input = makeTunnelInput({ tunnel: { ...tunnel, spec: { ...tunnel.spec, ...change } } });
      expect(verdict(input, "Updated").slice(0, 2)).toEqual(["False", "RollingOut"]);
      expect(verdict(input, "Updated")[2]).toStartWith("0 of 2 pairs are up to date");
    });
  }

  test("while a child has not looked at its newest spec", () => {
    const behind = { ...proxyOf(0), metadata: { ...proxyOf(0).metadata, generation: 4 } };
    expect(verdict(makeTunnelInput({ proxies: [behind, proxyOf(1)] }), "Updated")[2]).toBe(
      "1 of 2 pairs are up to date",
    );
  });
});
