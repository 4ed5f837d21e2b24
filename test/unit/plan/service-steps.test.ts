import { describe, expect, test } from "bun:test";
import type { ProxySpec } from "../../../src/api/proxy.ts";
import { proxyConsumerService } from "../../../src/desired/consumer-service.ts";
import { rendezvousService } from "../../../src/desired/rendezvous-service.ts";
import type { ObservedService } from "../../../src/plan/observed.ts";
import { planProxy } from "../../../src/plan/proxy.ts";
import { inSteps, rendezvousInSteps } from "../../../src/plan/service-steps.ts";
import { planTunnel } from "../../../src/plan/tunnel.ts";
import { makeProxy, makeService } from "../../support/objects.ts";
import { makeProxyInput } from "../../support/proxy-input.ts";
import { makeTunnelInput, proxyOf, proxyStatus, tunnel } from "../../support/tunnel-input.ts";

const consumer = (service: Partial<NonNullable<ProxySpec["service"]>>) => {
  const made = proxyConsumerService(makeProxy({ service: { name: "api", port: 80, ...service } }));
  if (made === undefined) throw new Error("a Service was asked for");
  return made;
};
const rendezvous = (nodePort: number) => rendezvousService(makeProxy({ proxyService: { type: "NodePort", nodePort } }));
const live = (name: string, spec: NonNullable<ObservedService["spec"]>) => makeService(name, { spec });
const onNode = (name: string, nodePort: number) => live(name, { type: "NodePort", ports: [{ port: 80, nodePort }] });
const balanced = (loadBalancerClass?: string) =>
  live("api", { type: "LoadBalancer", ports: [{ port: 80 }], ...(loadBalancerClass && { loadBalancerClass }) });

/** Type, class and node ports of each Service of the step. */
const step = (...given: Parameters<typeof inSteps>) =>
  inSteps(...given).map(({ spec }) => [
    spec?.type,
    spec?.loadBalancerClass,
    ...(spec?.ports ?? []).map((p) => p.nodePort),
  ]);

describe("a Service is applied as it is wanted", () => {
  const wanted = consumer({ type: "LoadBalancer", loadBalancerClass: "a", nodePort: 31000 });
  const cases: Record<string, readonly ObservedService[]> = {
    "when there is none": [],
    "when it has that class": [balanced("a")],
    "when it has another type": [onNode("api", 31000)],
    "when others have other ports": [onNode("edge-rendezvous", 31001)],
  };
  for (const [title, observed] of Object.entries(cases)) {
    test(title, () => {
      expect(inSteps([wanted], observed)).toEqual([wanted]);
    });
  }
});

describe("another class", () => {
  const full = { type: "LoadBalancer", externalTrafficPolicy: "Local", nodePort: 31000 } as const;

  test("needs a step as ClusterIP, without what only a load balancer has", () => {
    const [interim] = inSteps([consumer({ ...full, loadBalancerClass: "b" })], [balanced("a")]);
    expect(interim).toEqual(consumer({}));
  });

  test("is one too where there was none, and none where there was one", () => {
    expect(step([consumer({ ...full, loadBalancerClass: "b" })], [balanced()])).toEqual([
      ["ClusterIP", undefined, undefined],
    ]);
    expect(step([consumer(full)], [balanced("a")])).toEqual([["ClusterIP", undefined, undefined]]);
  });

  test("is planned so for a Tunnel, which is not updated before it has it", () => {
    const service = { name: "api", port: 80, type: "LoadBalancer" as const, loadBalancerClass: "b" };
    const of = { ...tunnel, spec: { ...tunnel.spec, service } };
    const owned = makeService("api", { owner: of, spec: { type: "LoadBalancer", loadBalancerClass: "a" } });
    const { apply, status } = planTunnel(makeTunnelInput({ tunnel: of, services: [owned] }));
    expect(apply.find(({ kind }) => kind === "Service")).toMatchObject({ spec: { type: "ClusterIP" } });
    expect(status.conditions.find(({ type }) => type === "Updated")).toMatchObject({ status: "False" });
  });

  test("of the rendezvous of a pair goes the same way, in its Proxy already", () => {
    const wanted = { type: "LoadBalancer" as const, loadBalancerClass: "b" };
    expect(rendezvousInSteps(wanted, { type: "LoadBalancer", loadBalancerClass: "a" })).toEqual({ type: "ClusterIP" });
    expect(rendezvousInSteps(wanted, { type: "ClusterIP" })).toBe(wanted);
    expect(rendezvousInSteps(wanted, undefined)).toBe(wanted);
    const of = { ...tunnel, spec: { ...tunnel.spec, proxy: { ...tunnel.spec.proxy, proxyService: wanted } } };
    const proxy = proxyOf(0, proxyStatus([]));
    const former = { ...proxy, spec: { ...proxy.spec, proxyService: { ...wanted, loadBalancerClass: "a" } } };
    const { apply } = planTunnel(makeTunnelInput({ tunnel: of, proxies: [former] }));
    const applied = apply.find(({ kind, metadata }) => kind === "Proxy" && metadata.name === "api-0");
    expect(applied).toMatchObject({ spec: { proxyService: { type: "ClusterIP" } } });
  });
});

describe("a port of the nodes that goes from one Service of an owner to another", () => {
  test("is left out while the Service of the former name has it", () => {
    const renamed = consumer({ name: "web", type: "NodePort", nodePort: 31000 });
    expect(step([renamed], [onNode("api", 31000)])).toEqual([["NodePort", undefined, undefined]]);
  });

  test("is planned so for a Proxy, and the former Service goes", () => {
    const proxy = makeProxy({ service: { name: "web", port: 80, type: "NodePort", nodePort: 31000 } });
    const former = { ...onNode("api", 31000), metadata: makeService("api", { owner: proxy }).metadata };
    const { apply, remove } = planProxy(makeProxyInput({ proxy, services: [former] }));
    const web = apply.find(({ metadata }) => metadata.name === "web") as unknown as ReturnType<typeof consumer>;
    expect(web.spec?.ports).toEqual([expect.not.objectContaining({ nodePort: 31000 })]);
    expect(remove.map(({ name }) => name)).toEqual(["api"]);
  });

  test("is given back first when two swap theirs", () => {
    const wanted = [rendezvous(31001), consumer({ type: "NodePort", nodePort: 31000 })];
    const before = [onNode("edge-rendezvous", 31000), onNode("api", 31001)];
    const givenBack = [
      ["ClusterIP", undefined, undefined],
      ["ClusterIP", undefined, undefined],
    ];
    expect(step(wanted, before)).toEqual(givenBack);
    const after = [live("edge-rendezvous", { ports: [{ port: 1 }] }), live("api", { ports: [{ port: 1 }] })];
    expect(inSteps(wanted, after)).toEqual(wanted);
  });

  test("waits for one that the cluster has given to the other", () => {
    const wanted = [rendezvous(31001), consumer({ type: "NodePort" })];
    const observed = [onNode("edge-rendezvous", 31000), onNode("api", 31001)];
    expect(step(wanted, observed)).toEqual([
      ["NodePort", undefined, undefined],
      ["ClusterIP", undefined, undefined],
    ]);
  });
});
