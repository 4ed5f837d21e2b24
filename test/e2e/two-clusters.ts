/** Two control planes: the second can only open connections to the first. The commands are the documented ones, in their order. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { groupVersion } from "../../src/names.ts";
import { type Cluster, startCluster } from "../support/cluster/index.ts";
import { loadImages } from "../support/e2e/images.ts";
import { kindsOf } from "../support/e2e/kinds.ts";
import { harm, measure, unharmed } from "../support/e2e/measure.ts";
import { backendNamespace, backendObjects } from "../support/e2e/peers.ts";
import { addressOf, installOperator, operatorNamespace, restricted, type Site } from "../support/e2e/site.ts";
import { startTool } from "../support/e2e/tool.ts";
import { proxyDocument, targetDocument } from "./documents.ts";

const namespace = "two-clusters";
/** Milliseconds that an established connection stays: less than the 10 s of the drain. */
const life = 4000;

export function twoClusters(siteNow: () => Site): void {
  describe("two clusters", () => {
    let site: Site;
    let inner: Cluster;

    const kubectl = (cluster: Cluster, args: readonly string[], input?: string): Promise<string> =>
      cluster.kubectl(["--namespace", namespace, ...args], { timeout: 100_000, ...(input !== undefined && { input }) });
    const waitReady = (cluster: Cluster, what: string): Promise<string> =>
      kubectl(cluster, ["wait", what, "--for=condition=Ready=True", "--timeout=90s"]);
    const endpointOf = async (proxy: string): Promise<string> =>
      (await kubectl(site.cluster, ["get", proxy, "-o", 'jsonpath={.status.proxyEndpoint}{"\\n"}'])).trim();

    beforeAll(async () => {
      site = siteNow();
      // The documented Proxy may run anywhere, and no consumer reaches the private node.
      await site.cluster.kubectl(["cordon", "private-1"]);
      inner = await startInner(site);
      const secret = randomBytes(32).toString("base64");
      for (const cluster of [site.cluster, inner]) {
        await cluster.createNamespace(namespace, restricted);
        const literal = `--from-literal=secret=${secret}`;
        await kubectl(cluster, ["create", "secret", "generic", "private-api-tunnel", literal]);
      }
    }, 180_000);

    afterAll(async () => {
      await site.cluster.uncordon("private-1");
      await inner?.stop();
    }, 30_000);

    test("a Proxy behind a load balancer and a Target in the other cluster", async () => {
      await kubectl(site.cluster, ["apply", "-f", "-"], proxyDocument);
      const ip = site.cluster.loadBalancerAddress(1);
      await kubectl(site.cluster, ["wait", "proxy/private-api", "--for=condition=Ready=False", "--timeout=30s"]);
      const service = `/api/v1/namespaces/${namespace}/services/private-api-rendezvous/status`;
      const body = { status: { loadBalancer: { ingress: [{ ip }] } } };
      await site.cluster.api.request(service, { method: "PATCH", body });
      await waitReady(site.cluster, "proxy/private-api");
      const endpoint = await endpointOf("proxy/private-api");
      expect(endpoint).toBe(`${ip}:7835`);
      await kubectl(inner, ["apply", "-f", "-"], targetDocument(endpoint));
      await waitReady(inner, "target/private-api");
      await exchangeThrough(site, "private-api");
    }, 240_000);

    test("consumers do not notice that the Proxy behind the load balancer is rolled", async () => {
      const kinds = kindsOf(site.cluster, namespace);
      const consumer = await site.consumerOn("cloud-1");
      const address = `private-api.${namespace}.svc:30080`;
      const scenario = { name: "rollout: Proxy, its Target in another cluster", goal: 0, consumer, address, life };
      const impact = await measure(site, scenario, async () => {
        await kinds.patch("proxy", "private-api", { spec: { podTemplate: { annotations: { revision: "1" } } } });
        await kinds.until("proxy", "private-api", { Connected: "True", Updated: "True" }, 90_000);
        await kinds.untilNoneLeave("proxy", "private-api");
      });
      expect(harm(impact)).toEqual(unharmed);
    }, 180_000);

    test("nor that the secret of both clusters is replaced", async () => {
      const consumer = await site.consumerOn("cloud-1");
      const address = `private-api.${namespace}.svc:30080`;
      const scenario = { name: "secret rotated, its Target in another cluster", goal: 0, consumer, address, life };
      const secretIn = async (cluster: Cluster) =>
        JSON.parse(await kubectl(cluster, ["get", "secret", "private-api-tunnel", "-o", "jsonpath={.data}"]));
      const before = await secretIn(inner);
      const impact = await measure(site, scenario, async () => {
        const rotation = startTool(site.cluster, ["rotate", "proxy/private-api", "-n", namespace, "--export"]);
        await kubectl(inner, ["apply", "-f", "-"], await rotation.printed);
        await rotation.done;
      });
      expect(harm(impact)).toEqual(unharmed);
      const after = await secretIn(site.cluster);
      expect([await secretIn(inner), Object.keys(after)]).toEqual([after, ["secret"]]);
      expect(after).not.toEqual(before);
      await waitReady(inner, "target/private-api");
    }, 240_000);

    test("a Proxy with a NodePort that names no Secret, and what export prints in the other cluster", async () => {
      const name = "by-node-port";
      const spec = {
        service: { name, port: 30080 },
        proxyService: { type: "NodePort", nodePort: 31135 },
      };
      await site.cluster.apply([{ apiVersion: groupVersion, kind: "Proxy", metadata: { name, namespace }, spec }]);
      await waitReady(site.cluster, `proxy/${name}`);
      const endpoint = await endpointOf(`proxy/${name}`);
      expect(endpoint).toBe(`${addressOf(site.cluster, "cloud-1")}:31135`);
      const args = ["export", `proxy/${name}`, "-n", namespace, "--backend", `${backendIn(targetDocument(endpoint))}`];
      const exported = startTool(site.cluster, args);
      await exported.done;
      await kubectl(inner, ["apply", "-f", "-"], await exported.printed);
      await waitReady(inner, `target/${name}`);
      await exchangeThrough(site, name);
    }, 240_000);

    test("nothing opens a connection from the reachable cluster to the other one", async () => {
      const [backend] = await inner.pods.list(backendNamespace);
      const consumer = await site.consumerOn("cloud-1");
      const node = addressOf(inner, "cloud-1");
      for (const address of [`${backend?.status?.podIP}:8080`, `${node}:10250`]) {
        expect(await consumer.connect(address, { timeout: 2000 })).not.toMatchObject({ result: "ok" });
      }
    }, 30_000);
  });
}

const backendIn = (target: string): string | undefined => / endpoint: (\S+)/.exec(target)?.[1];

/** A cluster of one node with operator and backend that can open connections to the site's cluster and receives none. */
async function startInner(site: Site): Promise<Cluster> {
  const inner = await startCluster({ cloudNodes: 1, privateNodes: 0 });
  try {
    await inner.joinTo(site.cluster);
    await loadImages(inner, site.archives);
    for (const each of [operatorNamespace, backendNamespace]) await inner.createNamespace(each, restricted);
    await inner.apply(backendObjects(backendNamespace, {}));
    await installOperator(inner, {});
    return inner;
  } catch (error) {
    await inner.stop();
    throw error;
  }
}

/** The Proxy learns within a probe's period that the session is up, and the Service's rules follow. */
async function exchangeThrough({ cluster, consumerOn }: Site, service: string): Promise<void> {
  await cluster.kubectl(
    ["--namespace", namespace, "wait", `proxy/${service}`, "--for=condition=Connected=True", "--timeout=30s"],
    { timeout: 40_000 },
  );
  for (const node of ["cloud-1", "cloud-2"]) {
    const consumer = await consumerOn(node);
    await using load = await consumer.startLoad({ address: `${service}.${namespace}.svc:30080` });
    const impact = await load.stop(0);
    expect([impact.corrupt, impact.attempts > 0]).toEqual([0, true]);
  }
}
