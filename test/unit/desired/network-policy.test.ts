import { describe, expect, test } from "bun:test";
import type { NetworkPolicy } from "../../../src/api/network-policy.ts";
import { withHash } from "../../../src/desired/applied.ts";
import { proxyNetworkPolicy } from "../../../src/desired/network-policy.ts";
import { pairProxy } from "../../../src/desired/pair.ts";
import { proxyDeployment } from "../../../src/desired/proxy-deployment.ts";
import type { CachedObject } from "../../../src/operator/caches.ts";
import { isAsWanted } from "../../../src/operator/compare.ts";
import { planProxy } from "../../../src/plan/proxy.ts";
import { controllerReference, makeProxy, makeTunnel, ourLabels, settings } from "../../support/objects.ts";
import { makeProxyInput } from "../../support/proxy-input.ts";

const group = "netaminity.exeteres.net";
const networkPolicy: NetworkPolicy = {
  from: [{ podSelector: { matchLabels: { app: "web" } } }, { namespaceSelector: {} }],
};
const shared: NetworkPolicy = { from: [{ ipBlock: { cidr: "192.0.2.0/24" } }] };

describe("the NetworkPolicy of a Proxy", () => {
  const proxy = makeProxy({ networkPolicy });

  test("lets everybody to the rendezvous and to the health port, and the named to the rest", () => {
    expect(proxyNetworkPolicy(proxy, shared)).toEqual({
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: {
        name: "edge-proxy",
        namespace: "demo",
        labels: { ...ourLabels, "app.kubernetes.io/component": "proxy", [`${group}/proxy`]: "edge" },
        ownerReferences: [controllerReference(proxy)],
      },
      spec: {
        podSelector: { matchLabels: { "app.kubernetes.io/component": "proxy", [`${group}/proxy`]: "edge" } },
        policyTypes: ["Ingress"],
        ingress: [
          {
            ports: [
              { protocol: "TCP", port: "rendezvous" },
              { protocol: "TCP", port: "health" },
            ],
          },
          networkPolicy,
        ],
      },
    });
  });

  test("names ports that its pods have, and selects them", () => {
    const { template, selector } = proxyDeployment(proxy, settings.agent).spec;
    const names = template.spec?.containers[0]?.ports?.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["rendezvous", "health"]));
    expect(proxyNetworkPolicy(proxy, undefined)?.spec).toMatchObject({ podSelector: selector });
  });

  test("is that of the operator where the object says nothing, and none where neither does", () => {
    expect(proxyNetworkPolicy(makeProxy(), shared)?.spec).toMatchObject({ ingress: [{}, shared] });
    expect(proxyNetworkPolicy(makeProxy(), undefined)).toBeUndefined();
  });

  test("is none for pods that no policy applies to", () => {
    expect(proxyNetworkPolicy(makeProxy({ podTemplate: { distributeByNodes: true, hostNetwork: true } }), shared)).toBe(
      undefined,
    );
  });

  test("comes to the pairs of a Tunnel", () => {
    expect(pairProxy(makeTunnel({ networkPolicy }), 0, "optional").spec.networkPolicy).toEqual(networkPolicy);
    expect(pairProxy(makeTunnel(), 0, "optional").spec).not.toHaveProperty("networkPolicy");
  });
});

describe("planned for a Proxy", () => {
  const kinds = (plan: ReturnType<typeof planProxy>) => plan.apply.map(({ kind }) => kind);

  test("it is made when asked for by the object or by the operator's settings", () => {
    expect(kinds(planProxy(makeProxyInput()))).not.toContain("NetworkPolicy");
    expect(kinds(planProxy(makeProxyInput({ proxy: makeProxy({ networkPolicy }) })))).toContain("NetworkPolicy");
    const settingsWith = { ...settings, networkPolicy: shared };
    expect(kinds(planProxy(makeProxyInput({ settings: settingsWith })))).toContain("NetworkPolicy");
  });

  test("it goes when it is asked for no longer, and a stranger's stays", () => {
    const proxy = makeProxy();
    const made = proxyNetworkPolicy(makeProxy({ networkPolicy }), undefined);
    const live = { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy" };
    const own = { ...live, metadata: { ...made?.metadata, name: "edge-proxy", uid: "u1" } };
    const foreign = { ...live, metadata: { name: "others", uid: "u2" } };
    const { remove } = planProxy(makeProxyInput({ proxy, networkPolicies: [own, foreign] }));
    expect(remove.map(({ kind, uid }) => [kind, uid])).toEqual([["NetworkPolicy", "u1"]]);
  });
});

test("what somebody adds to a peer of a pair's Proxy is put right there too", () => {
  const wanted = withHash(pairProxy(makeTunnel({ networkPolicy }), 0, "optional"));
  const live = structuredClone(wanted) as unknown as CachedObject & { spec: { networkPolicy: { from: object[] } } };
  expect(isAsWanted(wanted, live)).toBe(true);
  const [first = {}] = live.spec.networkPolicy.from;
  Object.assign(first, { namespaceSelector: {} });
  expect(isAsWanted(wanted, live)).toBe(false);
});

describe("it is put right when somebody", () => {
  const made = proxyNetworkPolicy(makeProxy({ networkPolicy }), undefined);
  if (made === undefined) throw new Error("a policy was asked for");
  const wanted = withHash(made);
  const live = structuredClone(wanted) as unknown as CachedObject & { spec: { ingress: { from: object[] }[] } };
  const changed = (change: (from: object[]) => object[]) => {
    const [open, named] = live.spec.ingress;
    return { ...live, spec: { ...live.spec, ingress: [open, { from: change(named?.from ?? []) }] } };
  };
  const changes: Record<string, (from: object[]) => object[]> = {
    "adds a peer": (from) => [...from, { namespaceSelector: {} }],
    "takes one away": (from) => from.slice(1),
    "widens one": ([first, ...rest]) => [{ ...first, namespaceSelector: {} }, ...rest],
    "narrows one": ([first]) => [first ?? {}, { namespaceSelector: { matchLabels: { a: "b" } } }],
    "narrows one by an expression": ([first]) => [
      first ?? {},
      { namespaceSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } },
    ],
  };
  test("but not before", () => {
    expect(isAsWanted(wanted, live)).toBe(true);
  });
  for (const [title, change] of Object.entries(changes)) {
    test(title, () => {
      expect(isAsWanted(wanted, changed(change))).toBe(false);
    });
  }
});
