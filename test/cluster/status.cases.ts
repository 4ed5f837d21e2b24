import { describe, expect, test } from "bun:test";
import { resources } from "../../src/operator/resources.ts";
import { reportPod, runPods, untilPods } from "./kubelet.ts";
import { conditionOf, makeProxy, makeSecret, makeTarget, makeTunnel } from "./objects.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

const proxyReason = async (site: Site, name = "db") => conditionOf(await site.objects.get(resources.proxy, name));
const untilProxy = (site: Site, reason: string, name = "db") =>
  site.until(`${name} ${reason}`, async () => (await proxyReason(site, name)) === reason);

describe("a Secret that a user has to bring", () => {
  test("is waited for, checked, and followed when it changes", async () => {
    await using site = await startSite("secret");
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    await objects.create(makeProxy("db"));
    await objects.create(makeTarget("db"));
    const targetReason = async () => conditionOf(await objects.get(resources.target, "db"));
    const both = (reason: string, otherwise = reason) =>
      site.until(reason, async () => (await proxyReason(site)) === reason && (await targetReason()) === otherwise);
    await both("False SecretMissing");
    await objects.create(makeSecret("db-key", { password: "wrong key" }));
    await both("False SecretInvalid");
    await objects.patch(resources.secret, "db-key", { data: { secret: "" } });
    await untilAtRest(site);
    expect(await proxyReason(site)).toBe("False SecretInvalid");
    await objects.patch(resources.secret, "db-key", { data: { secret: btoa("right") } });
    await both("True Available", "True SessionUp");
    // While pods run, too: the next one could not start.
    for (const data of [
      { secret: btoa("\xff\xfe") },
      { secret: btoa("x".repeat(65_537)) },
      { secret: btoa("right"), "previous-secret": btoa("\xff\xfe") },
    ]) {
      await objects.patch(resources.secret, "db-key", { data });
      await both("False SecretInvalid");
      await objects.patch(resources.secret, "db-key", { data: { secret: btoa("right"), "previous-secret": null } });
      await both("True Available", "True SessionUp");
    }
    await objects.remove(resources.secret, "db-key");
    await both("False SecretMissing");
    await objects.create(makeSecret("db-key"));
    await both("True Available", "True SessionUp");
  }, 150_000);

  test("is the only one of its kind that the operator ever reads", async () => {
    await using site = await startSite("unseen");
    const { objects } = site;
    await objects.create(makeSecret("stranger"));
    await objects.create(makeSecret("db-key"));
    await objects.create(makeProxy("db"));
    await untilProxy(site, "False PodsStarting");
    await untilAtRest(site);
    const { values } = await site.operator.metrics.cachedObjects.get();
    expect(values.find(({ labels }) => labels.resource === "secrets")?.value ?? 0).toBe(0);
    expect((await site.requests())["watch secrets 200"]).toBe(2);
    await objects.remove(resources.proxy, "db");
    await untilAtRest(site);
  }, 60_000);
});

describe("a rendezvous endpoint", () => {
  test("of type NodePort needs the host of the nodes, and comes with it", async () => {
    await using site = await startSite("host");
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    await objects.create(makeSecret("db-key"));
    await objects.create(makeProxy("db", { proxyService: { type: "NodePort", nodePort: 31100 } }));
    await untilProxy(site, "False ProxyHostMissing");
    await site.restart({ settings: { ...site.settings, proxyHost: "fd00::7" } });
    await untilProxy(site, "True Available");
    expect((await objects.get(resources.proxy, "db"))?.status.proxyEndpoint).toBe("[fd00::7]:31100");
  }, 90_000);

  test("of type LoadBalancer follows the load balancer", async () => {
    await using site = await startSite("balancer");
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    const setIngress = (ingress: object[]) =>
      objects.patch(resources.service, "db-rendezvous", { status: { loadBalancer: { ingress } } }, "status");
    const endpoint = async () => (await objects.get(resources.proxy, "db"))?.status.proxyEndpoint;
    await objects.create(makeSecret("db-key"));
    await objects.create(makeProxy("db", { proxyService: { type: "LoadBalancer" } }));
    await untilProxy(site, "False EndpointPending");
    await setIngress([{ ip: "192.0.2.7" }]);
    await site.until("address", async () => (await endpoint()) === "192.0.2.7:7835");
    await setIngress([{ hostname: "lb.example.net" }]);
    await site.until("name", async () => (await endpoint()) === "lb.example.net:7835");
    await setIngress([]);
    await untilProxy(site, "False EndpointPending");
  }, 90_000);

  test("whose nodePort is taken says so, keeps trying, and works once the port is free", async () => {
    await using site = await startSite("port", { settings: { proxyHost: "nodes" } });
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    const ports = [{ port: 80, nodePort: 31110 }];
    await objects.create({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "thief" },
      spec: { type: "NodePort", ports },
    });
    await objects.create(makeSecret("db-key"));
    await objects.create(makeProxy("db", { proxyService: { type: "NodePort", nodePort: 31110 } }));
    await untilProxy(site, "False PortConflict");
    await objects.remove(resources.service, "thief");
    await untilProxy(site, "True Available");
  }, 90_000);

  test("changes of type leave one Service of the new type and nothing else", async () => {
    await using site = await startSite("types", { settings: { proxyHost: "nodes" } });
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    await objects.create(makeSecret("db-key"));
    await objects.create(makeProxy("db"));
    await untilProxy(site, "True Available");
    const steps: [change: object, type: string, nodePort: unknown, endpoint: string | undefined][] = [
      [{ type: "NodePort", nodePort: 31120 }, "NodePort", 31120, "nodes:31120"],
      [{ type: "NodePort", nodePort: 31121 }, "NodePort", 31121, "nodes:31121"],
      [{ type: "LoadBalancer", nodePort: null }, "LoadBalancer", expect.any(Number), undefined],
      [{ type: "ClusterIP" }, "ClusterIP", undefined, `db-rendezvous.${site.namespace}.svc:7835`],
    ];
    for (const [proxyService, type, nodePort, endpoint] of steps) {
      await objects.patch(resources.proxy, "db", { spec: { proxyService } });
      await site.until(`${type} ${endpoint}`, async () => {
        const proxy = await objects.get(resources.proxy, "db");
        const service = await objects.get(resources.service, "db-rendezvous");
        return (
          service?.spec.type === type &&
          proxy?.status.observedGeneration === proxy?.metadata.generation &&
          proxy?.status.proxyEndpoint === endpoint
        );
      });
      const service = await objects.get(resources.service, "db-rendezvous");
      expect([service?.spec.type, service?.spec.ports[0].nodePort]).toEqual([type, nodePort]);
      expect(await objects.names(resources.service)).toEqual(["db", "db-rendezvous"]);
    }
  }, 120_000);

  test("a consumer Service that is renamed or no longer wanted goes away", async () => {
    await using site = await startSite("rename");
    const { objects } = site;
    await objects.create(makeSecret("db-key"));
    await objects.create(makeProxy("db"));
    await objects.create(makeTunnel("web"));
    const services = async (...names: string[]) =>
      site.until(names.join(), async () => Bun.deepEquals(await objects.names(resources.service), names));
    await services("db", "db-rendezvous", "web", "web-0-rendezvous");
    await objects.patch(resources.proxy, "db", { spec: { service: { name: "sql" } } });
    await objects.patch(resources.tunnel, "web", { spec: { service: { name: "www" } } });
    await services("db-rendezvous", "sql", "web-0-rendezvous", "www");
    await objects.patch(resources.proxy, "db", { spec: { service: null } });
    await services("db-rendezvous", "web-0-rendezvous", "www");
  }, 90_000);
});

describe("what Kubernetes refuses or cannot run", () => {
  test("a spec that the API server refuses becomes a condition and no endless retry", async () => {
    await using site = await startSite("refused");
    const { objects } = site;
    await objects.create(makeSecret("db-key"));
    const resourcesWrong = { requests: { cpu: "2" }, limits: { cpu: "1" } };
    await objects.create(makeProxy("db", { podTemplate: { resources: resourcesWrong } }));
    await untilProxy(site, "False InvalidSpec");
    await untilAtRest(site);
    const { message } = (await objects.get(resources.proxy, "db"))?.status.conditions[0] ?? {};
    expect(message).toStartWith("Deployment db-proxy: ");
    expect(message).toContain("must be less than or equal to cpu limit");
    await objects.patch(resources.proxy, "db", { spec: { podTemplate: { resources: { limits: { cpu: "3" } } } } });
    await untilProxy(site, "False PodsStarting");
  }, 90_000);

  test("a typed patch error, which the API server calls its own, becomes a condition too", async () => {
    await using site = await startSite("typed");
    const { objects } = site;
    await objects.create(makeSecret("db-key"));
    const constraint = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" };
    await objects.create(makeProxy("db", { podTemplate: { topologySpreadConstraints: [constraint, constraint] } }));
    await untilProxy(site, "False InvalidSpec");
    await untilAtRest(site);
    const { message } = (await objects.get(resources.proxy, "db"))?.status.conditions[0] ?? {};
    expect(message).toStartWith("Deployment db-proxy: failed to create typed patch object");
    expect((await site.requests())["patch deployments 500"]).toBeLessThanOrEqual(3);
  }, 90_000);

  test("a quota in the way is reported in its own words", async () => {
    await using site = await startSite("quota");
    const { objects, plane } = site;
    await objects.create(makeSecret("db-key"));
    const quota = {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "none" },
      spec: { hard: { pods: "0" } },
    };
    await plane.api.request(`/api/v1/namespaces/${site.namespace}/resourcequotas`, { body: quota });
    await objects.create(makeProxy("db"));
    await untilProxy(site, "False PodsFailing");
    const { message } = (await objects.get(resources.proxy, "db"))?.status.conditions[0] ?? {};
    expect(message).toContain("exceeded quota: none");
  }, 90_000);

  test("an image that cannot be pulled is reported with the kubelet's message", async () => {
    await using site = await startSite("image");
    const { objects } = site;
    await objects.create(makeSecret("db-key"));
    await objects.create(makeProxy("db"));
    const [pod] = await untilPods(objects, { proxy: "db" }, 1);
    if (pod === undefined) throw new Error("no pod");
    const waiting = { reason: "ErrImagePull", message: 'image "netaminity:test" not found' };
    await reportPod(site.plane, objects, pod, { ready: false, waiting });
    await untilProxy(site, "False PodsFailing");
    const { message } = (await objects.get(resources.proxy, "db"))?.status.conditions[0] ?? {};
    expect(message).toBe(`pod ${pod.metadata.name}: ImagePullBackOff: image "netaminity:test" not found`);
  }, 90_000);
});
