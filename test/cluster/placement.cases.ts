/** Where pods serve, and what a change does that does not get through. */
import { describe, expect, test } from "bun:test";
import { resources } from "../../src/operator/resources.ts";
import { makeNodes, nextAddress, reportPod, setNodeReady, untilPods } from "./kubelet.ts";
import { conditionOf, makeProxy, makeSecret, makeTarget, makeTunnel } from "./objects.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

const activeOf = async (site: Site, proxy: string): Promise<string | undefined> =>
  (await site.objects.get(resources.proxy, proxy))?.status?.activePod;

describe("the pairs of one Tunnel", () => {
  test("have their active pods on different nodes, also after a node was lost and came back", async () => {
    await using site = await startSite("spread", { clusterWide: true });
    const { objects, plane } = site;
    const nodes = ["a", "b"].map((name) => `${site.namespace}-${name}`);
    const [left = "", right = ""] = nodes;
    await using _nodes = await makeNodes(plane, objects, nodes);
    await objects.create(makeTunnel("db", { replicas: 2, proxy: { replicas: 2 } }));
    const pairs = ["db-0", "db-1"];
    const placed = new Map<string, string>();
    // Of both pairs the pod on the left lives first.
    for (const node of nodes) {
      for (const proxy of pairs) {
        const pods = await untilPods(objects, { proxy }, 2);
        const pod = pods[nodes.indexOf(node)];
        if (pod === undefined) throw new Error("no pod");
        placed.set(pod.metadata.name, node);
        await reportPod(plane, objects, pod, { ready: false, ip: nextAddress(), node });
      }
    }
    const nodeOfActive = async (proxy: string) => placed.get((await activeOf(site, proxy)) ?? "");
    const untilOn = (where: string[]) =>
      site.until(`active pods on ${where}`, async () =>
        Bun.deepEquals(await Promise.all(pairs.map(nodeOfActive)), where),
      );
    await untilOn([left, right]);
    await untilAtRest(site);
    await setNodeReady(plane, right, "Unknown");
    await untilOn([left, left]);
    await setNodeReady(plane, right, "True");
    await untilOn([left, right]);
    await setNodeReady(plane, left, "Unknown");
    await untilOn([right, right]);
    await setNodeReady(plane, left, "True");
    // The pair in front stays, the one behind makes room.
    await untilOn([right, left]);
    await untilAtRest(site);
    expect(await Promise.all(pairs.map(nodeOfActive))).toEqual([right, left]);
  }, 120_000);
});

describe("a change whose pods get no session", () => {
  test("is taken back after a while, said in conditions and Events, by whichever operator is there then", async () => {
    await using site = await startSite("attempt");
    const { objects, plane } = site;
    await objects.create(makeSecret("db-key"));
    await objects.create(makeSecret("other-key"));
    await objects.create(makeProxy("db", { replicas: 1 }));
    const [old] = await untilPods(objects, { proxy: "db" }, 1);
    if (old === undefined) throw new Error("no pod");
    await reportPod(plane, objects, old, { ready: true, ip: nextAddress() });
    await site.until(
      "served",
      async () => conditionOf(await objects.get(resources.proxy, "db"), "Connected") === "True SessionUp",
    );
    await objects.patch(resources.proxy, "db", { spec: { secretRef: { name: "other-key" } } });
    const pods = await untilPods(objects, { proxy: "db" }, 2);
    const next = pods.find(({ metadata }) => metadata.name !== old.metadata.name);
    if (next === undefined) throw new Error("no new pod");
    await reportPod(plane, objects, next, { ready: false, ip: nextAddress() });
    await site.until("tried", async () => (await activeOf(site, "db")) === next.metadata.name);
    await site.restart();
    await site.until("taken back", async () => (await activeOf(site, "db")) === old.metadata.name);
    const proxy = await objects.get(resources.proxy, "db");
    expect([conditionOf(proxy), conditionOf(proxy, "Connected"), conditionOf(proxy, "Updated")]).toEqual([
      "True Available",
      "True SessionUp",
      "False NoSessionAfterChange",
    ]);
    const events = (await objects.list(resources.event)) as unknown as { reason: string; note: string }[];
    expect(events.find(({ reason }) => reason === "ActivePodReturned")?.note).toBe(
      `the rendezvous leads back to pod ${old.metadata.name}: ${next.metadata.name} got no session within 10 s`,
    );
    await untilAtRest(site);
    await site.restart();
    await untilAtRest(site);
    expect([await activeOf(site, "db"), await site.writes()]).toEqual([old.metadata.name, {}]);
  }, 60_000);
});

describe("what only some clusters have", () => {
  test("a node port outside of the cluster's range is the API server's to refuse", async () => {
    await using site = await startSite("range", { settings: { proxyHost: "nodes" } });
    await site.objects.create(makeSecret("db-key"));
    await site.objects.create(makeProxy("db", { proxyService: { type: "NodePort", nodePort: 8085 } }));
    await site.until(
      "refused",
      async () => conditionOf(await site.objects.get(resources.proxy, "db")) === "False InvalidSpec",
    );
    const proxy = await site.objects.get(resources.proxy, "db");
    expect(proxy?.status.conditions[0].message).toContain("provided port is not in the valid range");
  }, 60_000);

  test("autoscalers find replicas and pods of every kind through the scale subresource", async () => {
    await using site = await startSite("scale");
    const { objects, plane } = site;
    await objects.create(makeSecret("db-key"));
    await objects.create(makeTunnel("t", { replicas: 1 }));
    await objects.create(makeProxy("db"));
    await objects.create(makeTarget("db"));
    for (const [plural, name, selector] of [
      ["tunnels", "t", "app.kubernetes.io/component=target,netaminity.exeteres.net/tunnel=t"],
      ["proxies", "db", "app.kubernetes.io/component=proxy,netaminity.exeteres.net/proxy=db"],
      ["targets", "db", "app.kubernetes.io/component=target,netaminity.exeteres.net/target=db"],
    ] as const) {
      const path = `/apis/netaminity.exeteres.net/v1/namespaces/${site.namespace}/${plural}/${name}/scale`;
      const scale = () => plane.api.request<{ spec: object; status: { selector?: string } }>(path);
      await site.until("a selector", async () => (await scale()).status.selector === selector);
      await plane.api.request(path, { method: "PATCH", body: { spec: { replicas: 3 } } });
      expect((await scale()).spec).toEqual({ replicas: 3 });
    }
    await site.until(
      "three target pods are wanted",
      async () => (await objects.get(resources.deployment, "db-target"))?.spec.replicas === 3,
    );
  }, 60_000);
});
