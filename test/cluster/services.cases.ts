/** What the Services of Tunnels and Proxies can be, as the API server takes and completes it. */
import { describe, expect, test } from "bun:test";
import { resources } from "../../src/operator/resources.ts";
import { runPods } from "./kubelet.ts";
import { type Anything, conditionOf, type Live, makeProxy, makeSecret, makeTunnel } from "./objects.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

type Fields = Record<string, unknown>;

const portsOf = (service: Live | undefined) => service?.spec.ports.map((port: Anything) => port.nodePort);

/** Changes an object and waits until its Service is so, and the object is not refused. */
async function change(site: Site, service: string, spec: Fields, is: (live: Live) => boolean): Promise<Live> {
  await site.objects.patch(resources.proxy, "db", { spec });
  return site.until(`Service ${service} as ${JSON.stringify(spec)} asks for`, async () => {
    const live = await site.objects.get(resources.service, service);
    return live !== undefined && is(live) && live;
  });
}

async function proxySite(name: string, spec: Fields = {}): Promise<Site> {
  const site = await startSite(name, { settings: { proxyHost: "nodes" } });
  await site.objects.create(makeSecret("db-key"));
  await site.objects.create(makeProxy("db", spec));
  await site.until("both Services", async () => (await site.objects.names(resources.service)).length === 2);
  return site;
}

describe("the consumer Service", () => {
  test("takes every field, and each that is taken back is the API server's default again", async () => {
    await using site = await proxySite("fields");
    const before = await site.objects.get(resources.service, "db");
    const service = {
      type: "LoadBalancer",
      annotations: { "example.net/scheme": "internal" },
      labels: { team: "red" },
      nodePort: 31210,
      loadBalancerClass: "example.net/lb",
      sessionAffinity: "ClientIP",
      trafficDistribution: "PreferClose",
      internalTrafficPolicy: "Local",
      externalTrafficPolicy: "Local",
      ipFamilyPolicy: "SingleStack",
    };
    const { annotations, labels, nodePort, ...fields } = service;
    const full = await change(site, "db", { service }, ({ spec }) => spec.type === "LoadBalancer");
    expect(full.spec).toMatchObject(fields);
    expect(portsOf(full)).toEqual([nodePort]);
    expect(full.metadata.annotations).toMatchObject(annotations);
    expect(full.metadata.labels).toMatchObject(labels);

    const none = Object.fromEntries(Object.keys(service).map((field) => [field, null]));
    const after = await change(site, "db", { service: none }, ({ spec }) => spec.type === "ClusterIP");
    expect(after.spec).toEqual(before?.spec);
    expect(after.metadata.labels).toEqual(before?.metadata.labels);
    expect(Object.keys(after.metadata.annotations ?? {})).toEqual(Object.keys(before?.metadata.annotations ?? {}));
    expect(conditionOf(await site.objects.get(resources.proxy, "db"))).not.toContain("InvalidSpec");
  }, 60_000);

  test("gives one field after the other back, whatever the others are", async () => {
    await using site = await proxySite("field", { service: { name: "db", port: 8000, type: "LoadBalancer" } });
    const rows: [field: string, value: unknown, then: unknown][] = [
      ["sessionAffinity", "ClientIP", "None"],
      ["trafficDistribution", "PreferClose", undefined],
      ["internalTrafficPolicy", "Local", "Cluster"],
      ["externalTrafficPolicy", "Local", "Cluster"],
      ["ipFamilyPolicy", "SingleStack", "PreferDualStack"],
    ];
    for (const [field, value, then] of rows) {
      await change(site, "db", { service: { [field]: value } }, ({ spec }) => spec[field] === value);
      await change(site, "db", { service: { [field]: null } }, ({ spec }) => spec[field] === then);
    }
    expect(conditionOf(await site.objects.get(resources.proxy, "db"))).not.toContain("InvalidSpec");
  }, 60_000);

  test("keeps what the API server and others put there, without a word about it", async () => {
    await using site = await proxySite("allocated", {
      service: { name: "db", port: 8000, type: "LoadBalancer", externalTrafficPolicy: "Local" },
    });
    await untilAtRest(site);
    const { objects } = site;
    const other = { metadata: { annotations: { "cloud.example/id": "7" }, labels: { audited: "yes" } } };
    await objects.patch(resources.service, "db", other);
    const loadBalancer = { ingress: [{ ip: "192.0.2.9" }] };
    const live = await objects.patch(resources.service, "db", { status: { loadBalancer } }, "status");
    expect(live.spec).toMatchObject({ healthCheckNodePort: expect.any(Number), allocateLoadBalancerNodePorts: true });
    await untilAtRest(site);
    const writes = await site.writes();
    site.operator.resync();
    await untilAtRest(site);
    expect(await site.writes()).toEqual(writes);
    expect(await objects.get(resources.service, "db")).toEqual(live);

    const after = await change(
      site,
      "db",
      { service: { annotations: { own: "1" } } },
      ({ metadata }) => metadata.annotations?.own === "1",
    );
    expect(after.metadata).toMatchObject(other.metadata);
    expect(after.spec).toEqual(live.spec);
  }, 60_000);

  test("of a Tunnel is what its spec says, for all pairs", async () => {
    await using site = await startSite("tunnel-service");
    await using _pods = runPods(site.plane, site.objects, () => true);
    const service = { name: "web", port: 80, type: "NodePort", nodePort: 31220, sessionAffinity: "ClientIP" };
    await site.objects.create(makeTunnel("web", { replicas: 2, service }));
    await site.until(
      "ready",
      async () => conditionOf(await site.objects.get(resources.tunnel, "web"), "Updated") === "True UpToDate",
    );
    const live = await site.objects.get(resources.service, "web");
    expect(live?.spec).toMatchObject({ type: "NodePort", sessionAffinity: "ClientIP" });
    expect(portsOf(live)).toEqual([31220]);
  }, 60_000);
});

describe("what Kubernetes never changes goes in steps", () => {
  test("the class of a load balancer, when the type was another one for a moment only", async () => {
    const service = { name: "db", port: 8000, type: "LoadBalancer", loadBalancerClass: "example.net/a" };
    await using site = await proxySite("class", { service });
    await site.operator.stop();
    await site.objects.patch(resources.proxy, "db", {
      spec: { service: { type: "ClusterIP", loadBalancerClass: null } },
    });
    await site.objects.patch(resources.proxy, "db", {
      spec: { service: { type: "LoadBalancer", loadBalancerClass: "example.net/b" } },
    });
    await site.restart();
    await change(site, "db", {}, ({ spec }) => spec.loadBalancerClass === "example.net/b");
  }, 60_000);

  test("a port of the nodes, when the Service gets another name and when two swap theirs", async () => {
    await using site = await proxySite("swap", {
      service: { name: "db", port: 8000, type: "NodePort", nodePort: 31230 },
      proxyService: { type: "NodePort", nodePort: 31231 },
    });
    await change(site, "sql", { service: { name: "sql" } }, (live) => Bun.deepEquals(portsOf(live), [31230]));
    expect(await site.objects.names(resources.service)).toEqual(["db-rendezvous", "sql"]);
    const swapped = { service: { nodePort: 31231 }, proxyService: { nodePort: 31230 } };
    await change(site, "sql", swapped, (live) => Bun.deepEquals(portsOf(live), [31231]));
    await change(site, "db-rendezvous", {}, (live) => Bun.deepEquals(portsOf(live), [31230]));
    await site.until("announced", async () => {
      const proxy = await site.objects.get(resources.proxy, "db");
      return proxy?.status?.proxyEndpoint === "nodes:31230";
    });
  }, 60_000);
});

describe("the rendezvous Service", () => {
  test("announces its host instead of an address, and has the traffic policy that is asked for", async () => {
    await using site = await proxySite("host", {
      proxyService: { type: "LoadBalancer", externalTrafficPolicy: "Local", externalHost: "a.example.net" },
    });
    const announced = (endpoint: string) =>
      site.until(`announces ${endpoint}`, async () => {
        const proxy = await site.objects.get(resources.proxy, "db");
        return proxy?.status?.proxyEndpoint === endpoint;
      });
    await announced("a.example.net:7835");
    const { spec } = (await site.objects.get(resources.service, "db-rendezvous")) as Live;
    expect(spec.externalTrafficPolicy).toBe("Local");
    await change(
      site,
      "db-rendezvous",
      { proxyService: { type: "NodePort", nodePort: 31240, externalTrafficPolicy: null } },
      (live) => live.spec.externalTrafficPolicy === "Cluster",
    );
    await announced("a.example.net:31240");
    await site.objects.patch(resources.proxy, "db", { spec: { proxyService: { externalHost: null } } });
    await announced("nodes:31240");
  }, 60_000);
});
