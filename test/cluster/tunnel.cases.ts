import { describe, expect, test } from "bun:test";
import { labels } from "../../src/names.ts";
import { resources } from "../../src/operator/resources.ts";
import { runPods } from "./kubelet.ts";
import { conditionOf, type Live, makeTunnel, type Objects } from "./objects.ts";
import { startSite, untilAtRest } from "./site.ts";

const childKinds = [
  resources.secret,
  resources.service,
  resources.endpointSlice,
  resources.proxy,
  resources.target,
  resources.deployment,
  resources.pod,
];

async function childNames(objects: Objects): Promise<Record<string, string[]>> {
  const entries = childKinds.map(async ({ plural, ...resource }) => {
    const all = await objects.list({ plural, ...resource }, `${labels.managedBy}=netaminity`);
    // Pods and the slices of Kubernetes' own controller have random names.
    const known = all.filter((object) =>
      object.metadata.ownerReferences?.some(({ kind }) => ["Tunnel", "Proxy", "Target"].includes(kind)),
    );
    return [plural, known.map(({ metadata }) => metadata.name).sort()] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** What identifies an object together with its content; it stays the same while nobody writes. */
const versions = (objects: readonly Live[]) =>
  Object.fromEntries(objects.map(({ metadata }) => [metadata.name, metadata.uid]));

/** Milliseconds: Kubernetes' garbage collector looks for new kinds every 30 s, and follows no owner of a kind before that. */
const collection = 120_000;

describe("a Tunnel", () => {
  test("gets its Secret, its consumer Service and its pairs, with everything that they need", async () => {
    await using site = await startSite("tunnel");
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    await objects.create(makeTunnel("db", { replicas: 2, proxy: { replicas: 2 } }));
    const tunnel = await site.until("ready", async () => {
      const live = await objects.get(resources.tunnel, "db");
      return conditionOf(live) === "True AllPairsReady" && conditionOf(live, "Updated") === "True UpToDate" && live;
    });
    expect(await childNames(objects)).toEqual({
      secrets: ["db-secret"],
      services: ["db", "db-0-rendezvous", "db-1-rendezvous"],
      endpointslices: ["db-0-rendezvous-ipv4", "db-1-rendezvous-ipv4"],
      proxies: ["db-0", "db-1"],
      targets: ["db-0", "db-1"],
      deployments: ["db-0-proxy", "db-0-target", "db-1-proxy", "db-1-target"],
      pods: [],
    });
    const { conditions: _, ...status } = tunnel.status;
    const endpoint = (i: number) => `db-${i}-rendezvous.${site.namespace}.svc:7835`;
    expect(status).toEqual({
      observedGeneration: 1,
      consumerEndpoint: `db.${site.namespace}.svc:8000`,
      replicas: 2,
      readyReplicas: 2,
      selector: "app.kubernetes.io/component=target,netaminity.exeteres.net/tunnel=db",
      readyProxyReplicas: 2,
      readyTargetReplicas: 2,
      replicasStatus: [0, 1].map((index) => ({
        index,
        proxy: `db-${index}`,
        target: `db-${index}`,
        endpoint: endpoint(index),
        ready: true,
      })),
    });
  });

  test("scales from 1 to 5 to 2 pairs and touches no pair that stays", async () => {
    await using site = await startSite("scale");
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    const isReadyWith = (pairs: number) => async () => {
      const { status } = (await objects.get(resources.tunnel, "db")) ?? {};
      const pods = (await objects.list(resources.pod)).length;
      return status?.readyReplicas === pairs && status.replicas === pairs && pods === pairs * 2;
    };
    await objects.create(makeTunnel("db"));
    await site.until("1 pair", isReadyWith(1));
    await untilAtRest(site);
    const first = await objects.list(resources.deployment);

    await objects.patch(resources.tunnel, "db", { spec: { replicas: 5 } });
    await site.until("5 pairs", isReadyWith(5), 40_000);
    expect(await objects.names(resources.proxy)).toEqual(["db-0", "db-1", "db-2", "db-3", "db-4"]);
    const five = await objects.list(resources.deployment);
    expect(versions(five)).toMatchObject(versions(first));

    await objects.patch(resources.tunnel, "db", { spec: { replicas: 2 } });
    await site.until("2 pairs", isReadyWith(2), collection);
    await site.until(
      "garbage collected",
      async () => (await objects.list(resources.deployment)).length === 4,
      collection,
    );
    expect({ proxies: await objects.names(resources.proxy), targets: await objects.names(resources.target) }).toEqual({
      proxies: ["db-0", "db-1"],
      targets: ["db-0", "db-1"],
    });
    const two = await objects.list(resources.deployment);
    expect(versions(five)).toMatchObject(versions(two));
    expect(two.map(({ metadata }) => metadata.generation)).toEqual([1, 1, 1, 1]);
    expect(await objects.names(resources.secret)).toEqual(["db-secret"]);
  }, 300_000);

  test("of no pairs says so, and serves again when it gets some", async () => {
    await using site = await startSite("zero");
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    const reason = async () => conditionOf(await objects.get(resources.tunnel, "db"));
    await objects.create(makeTunnel("db", { replicas: 0 }));
    await site.until("scaled to zero", async () => (await reason()) === "False ScaledToZero");
    expect(await objects.names(resources.proxy)).toEqual([]);
    await objects.patch(resources.tunnel, "db", { spec: { replicas: 1 } });
    await site.until("ready", async () => (await reason()) === "True AllPairsReady");
    await objects.patch(resources.tunnel, "db", { spec: { replicas: 0 } });
    await site.until("nothing left", async () => (await objects.list(resources.pod)).length === 0);
    expect(await reason()).toBe("False ScaledToZero");
  });

  test("leaves nothing behind when it is deleted", async () => {
    await using site = await startSite("delete");
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    await objects.create(makeTunnel("db", { replicas: 2 }));
    await site.until(
      "ready",
      async () => conditionOf(await objects.get(resources.tunnel, "db")) === "True AllPairsReady",
    );
    await untilAtRest(site);
    await objects.remove(resources.tunnel, "db");
    // The garbage collector learns of new kinds every 30 s.
    const nothingLeft = async () => {
      const left = await Promise.all([...childKinds, resources.tunnel].map((resource) => objects.list(resource)));
      return left.every((list) => list.length === 0);
    };
    await site.until("nothing left", nothingLeft, 60_000);
    await untilAtRest(site);
    expect(site.log.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  }, 120_000);

  test("leaves nothing behind in the foreground either", async () => {
    await using site = await startSite("foreground");
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    await objects.create(makeTunnel("db"));
    await site.until(
      "ready",
      async () => conditionOf(await objects.get(resources.tunnel, "db")) === "True AllPairsReady",
    );
    await site.plane.kubectl(["delete", "tunnel", "db", "-n", site.namespace, "--cascade=foreground", "--timeout=30s"]);
    await site.until("nothing left", async () => {
      const left = await Promise.all([...childKinds, resources.tunnel].map((resource) => objects.list(resource)));
      return left.every((list) => list.length === 0);
    });
  });
});
