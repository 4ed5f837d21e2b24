import { describe, expect, test } from "bun:test";
import type { Resource } from "../../src/kube/resources.ts";
import { apiGroup } from "../../src/names.ts";
import { resources } from "../../src/operator/resources.ts";
import { runPods } from "./kubelet.ts";
import { conditionOf, makeProxy, makeSecret, makeTarget, makeTunnel } from "./objects.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

/** A Tunnel with all kinds of children, at rest. */
async function restingTunnel(site: Site, spec: object = {}): Promise<void> {
  await site.objects.create(makeTunnel("db", spec));
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
    await restingTunnel(site, { podTemplate: { nodeSelector: { zone: "a" } } });
    const [container] = (await objects.get(resources.deployment, "db-0-proxy"))?.spec.template.spec.containers ?? [];
    const inPod = (spec: object) => ({ spec: { template: { spec } } });
    const edits: [Resource, string, object][] = [
      [
        resources.service,
        "db",
        { spec: { selector: { app: "stranger" }, ports: [{ name: "consumers", port: 9999, targetPort: 1 }] } },
      ],
      // One more entry in a selector.
      [resources.service, "db", { spec: { selector: { app: "stranger" } } }],
      [resources.deployment, "db-0-proxy", inPod({ nodeSelector: { disk: "fast" } })],
      [resources.proxy, "db-0", { spec: { podTemplate: { nodeSelector: { disk: "fast" } } } }],
      // The number of a port that is known by its name: ours and theirs cannot both be there.
      [
        resources.deployment,
        "db-0-proxy",
        inPod({ containers: [{ ...container, ports: [{ ...container.ports[0], containerPort: 1 }] }] }),
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
      // An edit of a pod template moves the rendezvous to another pod, and back.
      await untilAtRest(site);
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

  test("keep what others put beside ours, as every server-side apply does, and get what ours lacks", async () => {
    await using site = await startSite("shared");
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    await restingTunnel(site);
    const [own] = (await objects.get(resources.service, "db"))?.spec.ports ?? [];
    const theirs = { name: "more", port: 9999, protocol: "TCP", targetPort: 1 };
    await objects.patch(resources.service, "db", { spec: { ports: [theirs, { ...own, targetPort: 1 }] } });
    await site.until("ours put back", async () => {
      const live = await objects.get(resources.service, "db");
      return Bun.deepEquals(live?.spec.ports, [theirs, own]);
    });
    await untilAtRest(site);
    const before = await site.writes();
    site.operator.resync();
    await untilAtRest(site);
    expect(await site.writes()).toEqual(before);
  }, 90_000);

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

describe("an admission policy that insists on fields of ours", () => {
  test("has its way: nothing rolls, nothing is written anew, and nobody is told of a failure", async () => {
    await using site = await startSite("insists");
    const { objects, plane, namespace } = site;
    const group = "admissionregistration.k8s.io";
    const container = "/spec/template/spec/containers/0";
    await plane.apply([
      {
        apiVersion: `${group}/v1`,
        kind: "MutatingAdmissionPolicy",
        metadata: { name: namespace },
        spec: {
          reinvocationPolicy: "Never",
          matchConstraints: {
            namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
            resourceRules: [
              {
                apiGroups: ["apps"],
                apiVersions: ["v1"],
                resources: ["deployments"],
                operations: ["CREATE", "UPDATE"],
              },
            ],
          },
          mutations: [
            {
              patchType: "JSONPatch",
              jsonPatch: {
                expression: `[
                  JSONPatch{op: "replace", path: "${container}/image", value: "mirror.example.net/netaminity:test"},
                  JSONPatch{op: "replace", path: "${container}/env",
                    value: object.spec.template.spec.containers[0].env.filter(e, e.name != "ADDED") + [
                      Object.spec.template.spec.containers.env{name: "ADDED", value: "by policy"}]}]`,
              },
            },
          ],
        },
      },
      {
        apiVersion: `${group}/v1`,
        kind: "MutatingAdmissionPolicyBinding",
        metadata: { name: namespace },
        spec: { policyName: namespace },
      },
    ]);
    await using _policy = {
      [Symbol.asyncDispose]: async () => {
        await plane.kubectl(["delete", "mutatingadmissionpolicy,mutatingadmissionpolicybinding", namespace]);
      },
    };
    const deployment = (name: string, image: string) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { containers: [{ name, image, env: [{ name: "OWN", value: "1" }] }] },
        },
      },
    });
    // A policy is in force only a moment after it is accepted.
    let tries = 0;
    await site.until("the policy is in force", async () => {
      tries += 1;
      const made = await objects.create(deployment(`try-${tries}`, "x"));
      return made.spec.template.spec.containers[0].image.startsWith("mirror");
    });
    await using _pods = runPods(plane, objects, () => true);
    await restingTunnel(site);
    const look = async () =>
      Promise.all(
        ["db-0-proxy", "db-0-target"].map(async (name) => {
          const live = await objects.get(resources.deployment, name);
          const [{ image, env }] = live?.spec.template.spec.containers ?? [{}];
          const added = env.filter((each: { name: string }) => each.name === "ADDED").length;
          return { image, added, version: live?.metadata.resourceVersion, generation: live?.metadata.generation };
        }),
      );
    const before = await look();
    for (let round = 0; round < 3; round += 1) {
      site.operator.resync();
      await untilAtRest(site);
    }
    expect(await look()).toEqual(before);
    const insisted = { image: "mirror.example.net/netaminity:test", added: 1, generation: 1 };
    expect(before).toMatchObject([insisted, insisted]);
    expect(site.log.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  }, 90_000);
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
