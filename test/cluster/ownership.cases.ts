/** Who owns what: orphans and those who take them back, labels that users write, and what cannot be deleted. */
import { describe, expect, test } from "bun:test";
import { labels } from "../../src/names.ts";
import { resources } from "../../src/operator/resources.ts";
import { podsOf, runPods, untilPods } from "./kubelet.ts";
import { conditionOf, type Live, makeProxy, makeSecret, makeTarget, makeTunnel } from "./objects.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

/** The garbage collector hears of new kinds every 30 s; before that it deletes what it should orphan. */
async function untilCollectorKnowsOurKinds({ objects, until }: Site): Promise<void> {
  await objects.create(makeTunnel("first"));
  const left = async () =>
    [...(await objects.names(resources.proxy)), ...(await objects.names(resources.target))].length;
  await until("a pair", async () => (await left()) === 2);
  await objects.remove(resources.tunnel, "first");
  await until("the pair is gone", async () => (await left()) === 0, 90_000);
}

async function orphan(site: Site, kind: "tunnel" | "proxy" | "target", name: string): Promise<void> {
  await site.plane.kubectl(["delete", "-n", site.namespace, kind, name, "--cascade=orphan", "--wait=false"]);
  await site.until("it is gone", async () => (await site.objects.get(resources[kind], name)) === undefined);
}

const controllerOf = (object: Live | undefined): string | undefined =>
  object?.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;

/** Pods that the selector of a Service finds, and that are not on their way out. */
async function consumedPods({ objects }: Site, service: string): Promise<string[]> {
  const selector = (await objects.get(resources.service, service))?.spec.selector as Record<string, string>;
  const text = Object.entries(selector).map(([key, value]) => `${key}=${value}`);
  const pods = await objects.list(resources.pod, text.join(","));
  return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(({ metadata }) => metadata.name);
}

describe("what is deleted without its parts", () => {
  test("a Tunnel: they go on serving as they are, and a Tunnel of that name takes them back", async () => {
    await using site = await startSite("orphan");
    const { objects, plane } = site;
    await untilCollectorKnowsOurKinds(site);
    await using _pods = runPods(plane, objects, () => true);
    await objects.create(makeTunnel("db", { replicas: 2 }));
    const isReady = async () => conditionOf(await objects.get(resources.tunnel, "db")) === "True AllPairsReady";
    await site.until("ready", isReady);
    await untilAtRest(site);
    const [pods, secret] = [await consumedPods(site, "db"), await objects.get(resources.secret, "db-secret")];
    expect(pods.length).toBe(2);
    const ofPairZero = (await podsOf(objects, { proxy: "db-0" })).map(({ metadata }) => metadata.name);
    await orphan(site, "tunnel", "db");
    await site.until("orphans", async () => controllerOf(await objects.get(resources.proxy, "db-0")) === undefined);
    site.operator.resync();
    await untilAtRest(site);
    expect(await consumedPods(site, "db")).toEqual(pods);
    // Every planner has looked at them, also one that knows nothing from before.
    await site.restart();
    await untilAtRest(site);
    expect(await consumedPods(site, "db")).toEqual(pods);

    await objects.create(makeTunnel("db", { replicas: 1 }));
    await site.until("ready again", isReady);
    const uid = (await objects.get(resources.tunnel, "db"))?.metadata.uid;
    const children = await Promise.all([
      objects.get(resources.proxy, "db-0"),
      objects.get(resources.target, "db-0"),
      objects.get(resources.service, "db"),
      objects.get(resources.secret, "db-secret"),
    ]);
    expect(children.map(controllerOf)).toEqual(children.map(() => uid));
    expect(children[3]?.data).toEqual(secret?.data ?? {});
    // The second pair would go on taking a part of the consumers, to wherever its backend was.
    await site.until("the pair that is too many is gone", async () => {
      const left = [...(await objects.names(resources.proxy)), ...(await objects.names(resources.target))];
      return Bun.deepEquals(left, ["db-0", "db-0"]);
    });
    await untilAtRest(site);
    await site.until("its pods are gone", async () => (await consumedPods(site, "db")).length === 1);
    expect(await consumedPods(site, "db")).toEqual(ofPairZero);
  }, 180_000);

  test("a Proxy and a Target: the next of that name have the same pods", async () => {
    await using site = await startSite("orphans");
    const { objects, plane } = site;
    await using _pods = runPods(plane, objects, () => true);
    await objects.create(makeSecret("db-key"));
    const both = [makeProxy("db"), makeTarget("db")];
    for (const object of both) await objects.create(object);
    const ready = async () => {
      const proxy = conditionOf(await objects.get(resources.proxy, "db"), "Connected");
      return proxy === "True SessionUp" && conditionOf(await objects.get(resources.target, "db")) === "True SessionUp";
    };
    await site.until("ready", ready);
    const uids = async () =>
      [...(await podsOf(objects, { proxy: "db" })), ...(await podsOf(objects, { target: "db" }))].map(
        (pod) => pod.metadata.uid,
      );
    const before = await uids();
    await orphan(site, "proxy", "db");
    await orphan(site, "target", "db");
    for (const object of both) await objects.create(object);
    await site.until("ready again", ready);
    await untilAtRest(site);
    expect(await uids()).toEqual(before);
  }, 90_000);

  test("is not taken by a Tunnel of another name, nor are things that only look like it", async () => {
    await using site = await startSite("others");
    const { objects } = site;
    const stranger = { apiVersion: "v1", kind: "Service", metadata: { name: "db" }, spec: { ports: [{ port: 1 }] } };
    const ofOther = { [labels.name]: "netaminity", [labels.managedBy]: "netaminity", [labels.tunnel]: "other" };
    await objects.create({ ...stranger, metadata: { name: "db", labels: ofOther } });
    await objects.create(makeTunnel("db"));
    await site.until(
      "conflict",
      async () => conditionOf(await objects.get(resources.tunnel, "db")) === "False NameConflict",
    );
    expect(controllerOf(await objects.get(resources.service, "db"))).toBeUndefined();
  }, 60_000);
});

test("a label that a user gives to a Proxy does not lead a Tunnel's consumers to it", async () => {
  await using site = await startSite("labels");
  const { objects } = site;
  await objects.create(makeSecret("db-key"));
  const proxy = makeProxy("w-0");
  await objects.create({
    ...proxy,
    metadata: { name: "w-0", labels: { [labels.tunnel]: "w", [labels.index]: "0", [labels.managedBy]: "netaminity" } },
    spec: { ...proxy.spec, secretRef: { name: "db-key" } },
  });
  const [pod] = await untilPods(objects, { proxy: "w-0" }, 1);
  expect(pod?.metadata.labels?.[labels.tunnel]).toBeUndefined();
}, 60_000);

/** Two ways in which an API server refuses to delete Services of a namespace: a policy (422 or 403), and a webhook that cannot be asked (500). */
const refusals: Record<string, (name: string, namespace: string) => { objects: object[]; words: string }> = {
  "by a policy": (name, namespace) => ({
    words: "Services stay",
    objects: [
      {
        ...admission("ValidatingAdmissionPolicy", name),
        spec: {
          matchConstraints: { resourceRules: [deletedServices] },
          validations: [{ expression: "false", message: "Services stay" }],
        },
      },
      {
        ...admission("ValidatingAdmissionPolicyBinding", name),
        spec: {
          policyName: name,
          validationActions: ["Deny"],
          matchResources: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } },
        },
      },
    ],
  }),
  "by a webhook that does not answer": (name, namespace) => ({
    words: "failed calling webhook",
    objects: [
      {
        ...admission("ValidatingWebhookConfiguration", name),
        webhooks: [
          {
            name: "stay.example.net",
            // Nobody listens there.
            clientConfig: { url: "https://127.0.0.1:9/" },
            ...{ rules: [deletedServices], failurePolicy: "Fail", sideEffects: "None", timeoutSeconds: 2 },
            namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
            admissionReviewVersions: ["v1"],
          },
        ],
      },
    ],
  }),
};
const deletedServices = { apiGroups: [""], apiVersions: ["v1"], operations: ["DELETE"], resources: ["services"] };
const admission = (kind: string, name: string) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind,
  metadata: { name },
});

test.each(Object.keys(refusals))(
  "what may not be deleted %s is said, and the status goes on with the rest",
  async (how) => {
    await using site = await startSite("refused-delete");
    const { objects, plane, namespace } = site;
    const refusal = refusals[how]?.(`keep-${namespace}`, namespace);
    if (refusal === undefined) throw new Error(how);
    await plane.apply(refusal.objects);
    try {
      await objects.create(makeTunnel("db"));
      await site.until("its Service", async () => objects.get(resources.service, "db"));
      // A policy works a moment after it was made.
      await site.until("refusal", async () =>
        plane.api.request(`/api/v1/namespaces/${namespace}/services/db?dryRun=All`, { method: "DELETE" }).then(
          () => false,
          () => true,
        ),
      );
      await objects.patch(resources.tunnel, "db", { spec: { service: { name: "sql" } } });
      await site.until(
        "said",
        async () => conditionOf(await objects.get(resources.tunnel, "db"), "Updated") === "False NotRemoved",
      );
      const tunnel = await objects.get(resources.tunnel, "db");
      expect(tunnel?.status).toMatchObject({ observedGeneration: 2, consumerEndpoint: `sql.${namespace}.svc:8000` });
      const updated = tunnel?.status.conditions.find(({ type }: { type: string }) => type === "Updated");
      expect(updated.message).toStartWith("Service db: ");
      expect(updated.message).toContain(refusal.words);
      await untilAtRest(site);
      const tries = Object.entries(await site.requests()).filter(([call]) => /^delete services [45]/.test(call));
      // One for each pass while things changed, and none at rest.
      expect(tries.map(([, count]) => count).reduce((sum, count) => sum + count, 0)).toBeLessThan(12);
    } finally {
      for (const object of refusal.objects as { kind: string }[]) {
        await plane.kubectl(["delete", object.kind.toLowerCase(), `keep-${namespace}`]);
      }
    }
  },
  60_000,
);

test("a label of ours in a podTemplate that was stored before it was refused leads no consumers, and the status is written", async () => {
  await using site = await startSite("stored");
  const { plane, objects } = site;
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/proxies.netaminity.exeteres.net";
  const definition = await plane.api.request<{ spec: { versions: Live["spec"][] } }>(path);
  const earlier = structuredClone(definition.spec.versions);
  delete earlier[0].schema.openAPIV3Schema.properties.spec.properties.podTemplate.properties.labels[
    "x-kubernetes-validations"
  ];
  await objects.create(makeSecret("db-key"));
  const proxy = makeProxy("w-0");
  const podTemplate = { labels: { [labels.tunnel]: "w", team: "a" } };
  const body = { ...proxy, spec: { ...proxy.spec, secretRef: { name: "db-key" }, podTemplate } };
  const isAccepted = (object: object, query: string) =>
    plane.api
      .request(`/apis/netaminity.exeteres.net/v1/namespaces/${site.namespace}/proxies${query}`, { body: object })
      .then(
        () => true,
        () => false,
      );
  await plane.api.request(path, { method: "PATCH", body: { spec: { versions: earlier } } });
  try {
    await site.until("stored by an earlier version", () => isAccepted(body, ""));
  } finally {
    await plane.api.request(path, { method: "PATCH", body: { spec: { versions: definition.spec.versions } } });
  }
  const next = { ...body, metadata: { ...body.metadata, name: "w-1" } };
  await site.until("refused again", async () => !(await isAccepted(next, "?dryRun=All")));
  const [pod] = await untilPods(objects, { proxy: "w-0" }, 1);
  expect([pod?.metadata.labels?.[labels.tunnel], pod?.metadata.labels?.team]).toEqual([undefined, "a"]);
  await objects.patch(resources.proxy, "w-0", { spec: { drainTimeout: "31s" } });
  await site.until(
    "the status of the present generation",
    async () => (await objects.get(resources.proxy, "w-0"))?.status?.observedGeneration === 2,
  );
}, 60_000);
