import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { kubeconfigCredentials } from "../../src/kube/kubeconfig.ts";
import { rbac } from "../../src/operator/rbac.ts";
import { resources } from "../../src/operator/resources.ts";
import { writeKubeconfig } from "../support/cluster/kubeconfig.ts";
import { startRelay } from "../support/relay.ts";
import { runPods } from "./kubelet.ts";
import { type Anything, conditionOf, makeProxy, makeSecret, makeTunnel } from "./objects.ts";
import { refusesEndpoints, restrictEndpoints } from "./openshift.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

const untilProxy = (site: Site, reason: string, name = "db") =>
  site.until(
    `${name} ${reason}`,
    async () => conditionOf(await site.objects.get(resources.proxy, name)) === reason,
    40_000,
  );

describe("where writing endpoints takes a right of its own", () => {
  test("the chart's rules have it, and without it the condition says so", async () => {
    const others = [...rbac.namespaced, ...rbac.guard];
    await using site = await startSite("restricted", { rules: others });
    const { objects, plane, namespace } = site;
    await using _policy = await restrictEndpoints(plane, namespace);
    await site.until("policy in force", () => refusesEndpoints(site.kubeconfig, namespace));
    await using _pods = runPods(plane, objects, () => true);
    await objects.create(makeSecret("db-key"));
    await objects.create(makeProxy("db"));
    await untilProxy(site, "False Forbidden");
    const { conditions } = (await objects.get(resources.proxy, "db"))?.status ?? {};
    expect(conditions[0].message).toContain("endpointslices/restricted");
    await plane.api.request(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles/operator`, {
      method: "PATCH",
      body: { rules: [...others, ...rbac.platforms] },
    });
    await site.until("right granted", async () => !(await refusesEndpoints(site.kubeconfig, namespace)));
    site.operator.resync();
    await untilProxy(site, "True Available");
  }, 90_000);
});

describe("what is left to the platform", () => {
  test("ids that are null are absent in the pods, and nothing is written at rest because of them", async () => {
    await using site = await startSite("nobody");
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    const nobody = { runAsUser: null, runAsGroup: null };
    const podTemplate = { securityContext: { ...nobody, fsGroup: null }, containerSecurityContext: nobody };
    await objects.create(makeTunnel("db", { podTemplate }));
    await site.until(
      "tunnel ready",
      async () => conditionOf(await objects.get(resources.tunnel, "db")) === "True AllPairsReady",
    );
    await untilAtRest(site);
    const writes = await site.writes();
    const deployments = await objects.list(resources.deployment);
    const contexts = deployments.map(({ spec }) => [
      spec.template.spec.securityContext,
      spec.template.spec.containers[0].securityContext,
    ]);
    const pod = { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } };
    const container = {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    };
    expect(contexts).toEqual([
      [pod, container],
      [pod, container],
    ]);
    site.operator.resync();
    await untilAtRest(site);
    expect(await site.writes()).toEqual(writes);
  }, 60_000);

  test("which node ports there are: what the API server refuses is a condition in its words", async () => {
    await using site = await startSite("ports", { settings: { proxyHost: "nodes" } });
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    await objects.create(makeSecret("db-key"));
    await objects.create(makeProxy("db", { proxyService: { type: "NodePort", nodePort: 443 } }));
    await untilProxy(site, "False InvalidSpec");
    const { conditions } = (await objects.get(resources.proxy, "db"))?.status ?? {};
    expect(conditions[0].message).toContain("30000-32767");
    await objects.patch(resources.proxy, "db", { spec: { proxyService: { nodePort: 31443 } } });
    await untilProxy(site, "True Available");
  }, 60_000);
});

test("every port says that it is plain TCP, so that no mesh waits for the client's first words", async () => {
  await using site = await startSite("mesh");
  const { objects } = site;
  await using _pods = runPods(site.plane, objects, () => true);
  await objects.create(makeTunnel("db"));
  const ports = (list: Anything[]) => list.map(({ name, appProtocol }) => `${name} ${appProtocol}`);
  const name = "db-0-rendezvous-ipv4";
  const slice = await site.until("slice", () => objects.get(resources.endpointSlice, name));
  expect(ports((slice as Anything).ports)).toEqual(["rendezvous tcp"]);
  const services = await objects.list(resources.service);
  expect(services.flatMap(({ spec }) => ports(spec.ports)).sort()).toEqual(["consumers tcp", "rendezvous tcp"]);
}, 60_000);

test("the scale subresource of a Tunnel shows one pod for each pair, that of a Proxy its pods", async () => {
  await using site = await startSite("scale");
  const { objects, plane, namespace } = site;
  await using _pods = runPods(plane, objects, () => true);
  await objects.create(makeTunnel("db", { replicas: 2, proxy: { replicas: 2 } }));
  await objects.create(makeTunnel("other"));
  const scaleOf = async (plural: string, name: string) => {
    const path = `/apis/netaminity.exeteres.net/v1/namespaces/${namespace}/${plural}/${name}/scale`;
    const { spec, status } = await plane.api.request<{ spec: Anything; status: Anything }>(path);
    const pods = status.selector === undefined ? [] : await objects.list(resources.pod, status.selector);
    return { wanted: spec.replicas, are: status.replicas, pods: pods.length };
  };
  await site.until("pairs", async () => Bun.deepEquals(await scaleOf("tunnels", "db"), { wanted: 2, are: 2, pods: 2 }));
  await site.until("pods", async () =>
    Bun.deepEquals(await scaleOf("proxies", "db-1"), { wanted: 2, are: 2, pods: 2 }),
  );
  await plane.kubectl(["scale", "--namespace", namespace, "tnl/db", "--replicas=3"]);
  await site.until("scaled", async () =>
    Bun.deepEquals(await scaleOf("tunnels", "db"), { wanted: 3, are: 3, pods: 3 }),
  );
}, 60_000);

test("a load balancer may list its addresses in any order, and entries that say nothing", async () => {
  await using site = await startSite("balancer");
  const { objects } = site;
  await using _pods = runPods(site.plane, objects, () => true);
  await objects.create(makeSecret("db-key"));
  await objects.create(makeProxy("db", { proxyService: { type: "LoadBalancer" } }));
  await untilProxy(site, "False EndpointPending");
  const lists = (...ingress: object[]) =>
    objects.patch(resources.service, "db-rendezvous", { status: { loadBalancer: { ingress } } }, "status");
  const announced = async () => (await objects.get(resources.proxy, "db"))?.status.proxyEndpoint;
  await lists({}, { ip: "192.0.2.1" }, { ip: "192.0.2.2" });
  await site.until("first", async () => (await announced()) === "192.0.2.1:7835");
  await untilAtRest(site);
  const writes = await site.writes();
  await lists({ hostname: "lb.example.net" }, { ip: "192.0.2.2" }, { ip: "192.0.2.1" });
  // What is not taken in could change nothing.
  await site.until("other order is known", async () => {
    site.operator.resync();
    await untilAtRest(site);
    return (await announced()) === "192.0.2.1:7835";
  });
  expect(await site.writes()).toEqual(writes);
  await lists({ ip: "192.0.2.2" }, { ip: "192.0.2.3" });
  await site.until("another", async () => (await announced()) === "192.0.2.2:7835");
}, 60_000);

test("connections to the API server that nobody answers any more are given up, and nothing is missed", async () => {
  await using site = await startSite("halfopen");
  const { objects, plane } = site;
  const { hostname, port } = new URL(plane.url);
  await using relay = await startRelay({ host: hostname, port: Number(port) });
  const kubeconfig = await writeKubeconfig(join(plane.run.folder, "relayed"), {
    url: `https://127.0.0.1:${relay.port}`,
    ca: plane.ca,
    user: { token: await plane.token(site.namespace, "operator") },
  });
  const idle = 3000;
  await site.restart({
    credentials: kubeconfigCredentials(kubeconfig),
    timing: {
      watch: { idle, firstBackoff: 50, maxBackoff: 500 },
      leader: { duration: 30_000, renewDeadline: 25_000, retry: 200 },
    },
  });
  await using _pods = runPods(plane, objects, () => true);
  await objects.create(makeSecret("db-key"));
  await objects.create(makeProxy("db"));
  await untilProxy(site, "True Available");
  for (const link of relay.links) {
    link.freeze();
  }
  await objects.patch(resources.secret, "db-key", { data: { secret: "" } });
  await untilProxy(site, "False SecretInvalid");
}, 90_000);

describe("Secrets beyond the number of watches", () => {
  test("are read when they are looked at, and watched as soon as a watch is free", async () => {
    await using site = await startSite("beyond", { operator: { maxSecretWatches: 1 } });
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    for (const name of ["db", "web"]) {
      await objects.create(makeSecret(`${name}-key`));
      await objects.create(makeProxy(name));
      await untilProxy(site, "True Available", name);
    }
    await objects.patch(resources.secret, "web-key", { data: { secret: "" } });
    await untilAtRest(site);
    site.operator.resync();
    await untilProxy(site, "False SecretInvalid", "web");
    expect((await site.requests())["get secrets 200"]).toBeGreaterThanOrEqual(2);
    await objects.remove(resources.proxy, "db");
    const watches = async () => (await site.requests())["watch secrets 200"] ?? 0;
    await site.until("watch of web-key", async () => (await watches()) === 3);
    await objects.patch(resources.secret, "web-key", { data: { secret: btoa("right") } });
    await untilProxy(site, "True Available", "web");
  }, 90_000);
});
