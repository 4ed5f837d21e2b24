/** The NetworkPolicies of proxy pods, as the operator makes and keeps them on a real API server. Nothing enforces them there. */
import { describe, expect, test } from "bun:test";
import { resources } from "../../src/operator/resources.ts";
import { conditionOf, type Live, makeProxy, makeSecret, makeTunnel } from "./objects.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

const web = { podSelector: { matchLabels: { app: "web" } } };
const office = { ipBlock: { cidr: "192.0.2.0/24", except: ["192.0.2.128/25"] } };
const shared = { from: [{ namespaceSelector: {} }] };

/** Who may consume, by the policy's second rule; the first is about ports that are open to all. */
const consumersOf = (policy: Live | undefined) => policy?.spec.ingress[1]?.from;

async function policyOf(site: Site, name: string, from: object[] | undefined): Promise<Live | undefined> {
  const found = await site.until(`${name} lets ${JSON.stringify(from)} in`, async () => {
    const live = await site.objects.get(resources.networkPolicy, name);
    return Bun.deepEquals(consumersOf(live), from) && { live };
  });
  return found.live;
}

describe("a NetworkPolicy", () => {
  test("of a Proxy is made, kept, changed and taken away as its spec says", async () => {
    await using site = await startSite("policy");
    const { objects } = site;
    await objects.create(makeSecret("db-key"));
    await objects.create(makeProxy("db", { networkPolicy: { from: [web] } }));
    const made = await policyOf(site, "db-proxy", [web]);
    expect(made?.spec).toEqual({
      podSelector: { matchLabels: expect.objectContaining({ "netaminity.exeteres.net/proxy": "db" }) },
      policyTypes: ["Ingress"],
      ingress: [
        {
          ports: [
            { protocol: "TCP", port: "rendezvous" },
            { protocol: "TCP", port: "health" },
          ],
        },
        { from: [web] },
      ],
    });
    await untilAtRest(site);
    const writes = await site.writes();
    site.operator.resync();
    await untilAtRest(site);
    expect(await site.writes()).toEqual(writes);

    const widened = {
      spec: { ingress: [{ from: [{ ...web, namespaceSelector: {} }] }], egress: [], policyTypes: ["Egress"] },
    };
    await objects.patch(resources.networkPolicy, "db-proxy", widened);
    const restored = await policyOf(site, "db-proxy", [web]);
    expect(restored?.spec).toEqual(made?.spec);
    await objects.remove(resources.networkPolicy, "db-proxy");
    await policyOf(site, "db-proxy", [web]);

    await objects.patch(resources.proxy, "db", { spec: { networkPolicy: { from: [office, web] } } });
    await policyOf(site, "db-proxy", [office, web]);
    await objects.patch(resources.proxy, "db", { spec: { networkPolicy: null } });
    await policyOf(site, "db-proxy", undefined);
    expect(await objects.names(resources.networkPolicy)).toEqual([]);
    expect(conditionOf(await objects.get(resources.proxy, "db"))).not.toContain("InvalidSpec");
  }, 90_000);

  test("comes from the operator's settings where an object has none, and reaches the pairs of a Tunnel", async () => {
    await using site = await startSite("policy-default", { settings: { networkPolicy: shared } });
    const { objects } = site;
    await objects.create(makeTunnel("web", { replicas: 2, networkPolicy: { from: [web] } }));
    await policyOf(site, "web-0-proxy", [web]);
    await policyOf(site, "web-1-proxy", [web]);
    await objects.patch(resources.tunnel, "web", { spec: { networkPolicy: null } });
    await policyOf(site, "web-0-proxy", shared.from);
    await policyOf(site, "web-1-proxy", shared.from);
    await objects.patch(resources.tunnel, "web", { spec: { podTemplate: { hostNetwork: true } } });
    await policyOf(site, "web-0-proxy", undefined);
  }, 90_000);

  test("that belongs to somebody else is left alone", async () => {
    await using site = await startSite("policy-foreign");
    const { objects } = site;
    const spec = { podSelector: {}, policyTypes: ["Ingress"] };
    const metadata = { name: "db-proxy" };
    const before = await objects.create({
      ...{ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy" },
      ...{ metadata, spec },
    });
    await objects.create(makeSecret("db-key"));
    await objects.create(makeProxy("db", { networkPolicy: { from: [web] } }));
    await site.until(
      "conflict",
      async () => conditionOf(await objects.get(resources.proxy, "db")) === "False NameConflict",
    );
    expect(await objects.get(resources.networkPolicy, "db-proxy")).toEqual(before);
  }, 60_000);
});
