import { describe, expect, test } from "bun:test";
import { resources } from "../../src/operator/resources.ts";
import { runPods } from "./kubelet.ts";
import { conditionOf, makeProxy, makeSecret, makeTarget, makeTunnel } from "./objects.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

/** One object of each kind with everything that it can have, ready. */
async function allKindsAtRest(site: Site): Promise<void> {
  const { objects } = site;
  const template = {
    resources: { requests: { cpu: "0.5", memory: "1024Mi" }, limits: { memory: "2Gi" } },
    tolerations: [],
    affinity: {},
    priorityClassName: "",
    nodeSelector: { zone: "a" },
    labels: { team: "red" },
  };
  await objects.create(makeSecret("own-key"));
  await objects.create(makeTunnel("db", { replicas: 2, podTemplate: template, proxy: { replicas: 2 } }));
  await objects.create(makeProxy("own", { proxyService: { type: "NodePort" }, podTemplate: template }));
  await objects.create(makeTarget("own", { secretRef: { name: "own-key" }, podTemplate: template }));
  const isReady = async (kind: "tunnel" | "proxy" | "target", name: string) =>
    conditionOf(await objects.get(resources[kind], name)).startsWith("True");
  await site.until(
    "all ready",
    async () => (await isReady("tunnel", "db")) && (await isReady("proxy", "own")) && (await isReady("target", "own")),
  );
  await untilAtRest(site);
}

describe("at rest", () => {
  test("nothing is written, however often everything is looked at", async () => {
    await using site = await startSite("rest", { settings: { proxyHost: "nodes" } });
    await using _pods = runPods(site.plane, site.objects, () => true);
    await allKindsAtRest(site);
    const writes = await site.writes();
    const reconciles = async () =>
      (await site.operator.metrics.reconciles.get()).values.reduce((sum, { value }) => sum + value, 0);
    const before = await reconciles();
    for (let round = 0; round < 3; round += 1) {
      site.operator.resync();
      await untilAtRest(site);
    }
    expect(await site.writes()).toEqual(writes);
    // 1 Tunnel with 2 pairs, 1 Proxy and 1 Target, three times.
    expect((await reconciles()) - before).toBeGreaterThanOrEqual(7 * 3);
  }, 90_000);

  test("an operator that is started anew writes nothing and asks for nothing but its lists", async () => {
    await using site = await startSite("anew", { settings: { proxyHost: "nodes" } });
    await using _pods = runPods(site.plane, site.objects, () => true);
    await allKindsAtRest(site);
    await site.restart();
    await site.until("reconciled", async () => (await site.operator.metrics.reconciles.get()).values.length === 3);
    await untilAtRest(site);
    expect(await site.writes()).toEqual({});
    const gets = Object.keys(await site.requests()).filter((call) => call.startsWith("get "));
    expect(gets).toEqual(["get leases 200"]);
  }, 90_000);
});
