import { describe, expect, test } from "bun:test";
import type { Resource } from "../../src/kube/resources.ts";
import { apiGroup } from "../../src/names.ts";
import { resources } from "../../src/operator/resources.ts";
import { runPods } from "./kubelet.ts";
import { conditionOf, makeProxy, makeSecret, makeTarget, makeTunnel } from "./objects.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

/** A Tunnel with all kinds of children, at rest. */
async function restingTunnel(site: Site): Promise<void> {
  await site.objects.create(makeTunnel("db"));
  await site.until(
    "ready",
    async () => conditionOf(await site.objects.get(resources.tunnel, "db")) === "True AllPairsReady",
  );
  await untilAtRest(site);
}

describe("children that somebody meddles with", () => {
  test("are put back as they were", async () => {
    await using site = await startSite("edited");
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    await restingTunnel(site);
    const edits: [Resource, string, object][] = [
      [
        resources.service,
        "db",
        { spec: { selector: { app: "stranger" }, ports: [{ name: "consumers", port: 9999, targetPort: 1 }] } },
      ],
      [resources.service, "db-0-rendezvous", { metadata: { labels: { "app.kubernetes.io/name": "stranger" } } }],
      [
        resources.deployment,
        "db-0-proxy",
        { spec: { replicas: 3, template: { metadata: { labels: { [`${apiGroup}/tunnel`]: "x" } } } } },
      ],
      [
        resources.deployment,
        "db-0-target",
        { spec: { template: { spec: { dnsPolicy: "Default", enableServiceLinks: true } } } },
      ],
      [resources.proxy, "db-0", { spec: { proxyService: { type: "LoadBalancer" } } }],
      [resources.target, "db-0", { spec: { endpoint: "evil.example.net:1" } }],
      [resources.endpointSlice, "db-0-rendezvous-ipv4", { endpoints: [] }],
      [resources.secret, "db-secret", { metadata: { labels: { "app.kubernetes.io/managed-by": null } } }],
    ];
    for (const [resource, name, change] of edits) {
      const before = await objects.get(resource, name);
      const contentOf = async () => {
        const { metadata, status: _, ...content } = (await objects.get(resource, name)) ?? {};
        return { ...content, labels: metadata?.labels };
      };
      const { labels } = before?.metadata ?? {};
      const { metadata: _metadata, status: _status, ...content } = before ?? {};
      await objects.patch(resource, name, change);
      await site.until(`${name} put back`, async () => Bun.deepEquals(await contentOf(), { ...content, labels }));
      expect(await contentOf()).toEqual({ ...content, labels });
    }
  }, 150_000);

  test("are made again when they are deleted, the Secret with a new value", async () => {
    await using site = await startSite("deleted");
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    await restingTunnel(site);
    const children: [Resource, string][] = [
      [resources.service, "db"],
      [resources.service, "db-0-rendezvous"],
      [resources.deployment, "db-0-proxy"],
      [resources.deployment, "db-0-target"],
      [resources.endpointSlice, "db-0-rendezvous-ipv4"],
      [resources.secret, "db-secret"],
      [resources.target, "db-0"],
      [resources.proxy, "db-0"],
    ];
    for (const [resource, name] of children) {
      const before = await objects.get(resource, name);
      await objects.remove(resource, name);
      await site.until(`${name} made again`, async () => {
        const after = await objects.get(resource, name);
        return after !== undefined && after.metadata.uid !== before?.metadata.uid;
      });
    }
    await site.until(
      "ready",
      async () => conditionOf(await objects.get(resources.tunnel, "db")) === "True AllPairsReady",
    );
  }, 150_000);
});

describe("objects of others that have a name which is needed", () => {
  const foreign: Record<string, [object: { kind: string; metadata: { name: string } }, resource: Resource]> = {
    "a consumer Service": [
      { apiVersion: "v1", kind: "Service", metadata: { name: "db" }, spec: { ports: [{ port: 1 }] } } as never,
      resources.service,
    ],
    "a Secret": [{ ...makeSecret("db-secret"), metadata: { name: "db-secret" } }, resources.secret],
    "a Proxy of a user": [makeProxy("db-0", { service: { name: "other", port: 1 } }), resources.proxy],
    "a Target of a user": [makeTarget("db-0"), resources.target],
  };
  for (const [name, [object, resource]] of Object.entries(foreign)) {
    test(`${name} is left alone, and the Tunnel says what is in the way until it is gone`, async () => {
      await using site = await startSite("foreign");
      const { objects } = site;
      await using _pods = runPods(site.plane, objects, () => true);
      if (resource === resources.proxy || resource === resources.target) {
        await objects.create(makeSecret("db-0-key"));
      }
      await objects.create(object);
      await untilAtRest(site);
      const before = await objects.get(resource, object.metadata.name);
      await objects.create(makeTunnel("db"));
      const tunnel = await site.until("conflict", async () => {
        const live = await objects.get(resources.tunnel, "db");
        return conditionOf(live) === "False NameConflict" && live;
      });
      expect(tunnel.status.conditions[0].message).toStartWith(`${object.kind} ${object.metadata.name}: `);
      await untilAtRest(site);
      const after = await objects.get(resource, object.metadata.name);
      expect([after?.spec, after?.data, after?.metadata.ownerReferences, after?.metadata.labels]).toEqual([
        before?.spec,
        before?.data,
        undefined,
        undefined,
      ]);
      const events = (await objects.list(resources.event)) as unknown as {
        reason: string;
        regarding: { name: string };
      }[];
      expect(events.some(({ reason, regarding }) => reason === "NameConflict" && regarding.name === "db")).toBe(true);

      await objects.remove(resource, object.metadata.name);
      site.operator.resync();
      await site.until(
        "ready",
        async () => conditionOf(await objects.get(resources.tunnel, "db")) === "True AllPairsReady",
      );
    }, 150_000);
  }

  test("a Deployment in the way of a Proxy is left alone too", async () => {
    await using site = await startSite("foreign");
    const { objects } = site;
    const pod = { metadata: { labels: { app: "x" } }, spec: { containers: [{ name: "x", image: "x" }] } };
    const spec = { replicas: 0, selector: { matchLabels: { app: "x" } }, template: pod };
    const before = await objects.create({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "db-proxy" },
      spec,
    });
    await objects.create(makeSecret("db-key"));
    await objects.create(makeProxy("db"));
    await site.until(
      "conflict",
      async () => conditionOf(await objects.get(resources.proxy, "db")) === "False NameConflict",
    );
    expect((await objects.get(resources.deployment, "db-proxy"))?.spec).toEqual(before.spec);
    await objects.remove(resources.proxy, "db");
    await site.until("rest is collected", async () => (await objects.names(resources.service)).length === 0);
    expect(await objects.names(resources.deployment)).toEqual(["db-proxy"]);
  }, 90_000);
});
