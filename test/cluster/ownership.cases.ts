/** Who owns what: orphans and those who take them back, what cannot be deleted, and who else would work here. */
import { describe, expect, test } from "bun:test";
import { labels } from "../../src/names.ts";
import { guardName, rbac } from "../../src/operator/rbac.ts";
import { resources } from "../../src/operator/resources.ts";
import { podsOf, runPods, untilPods } from "./kubelet.ts";
import { conditionOf, type Live, makeProxy, makeSecret, makeTarget, makeTunnel } from "./objects.ts";
import { leads, type Site, startSite, untilAtRest } from "./site.ts";

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
    await objects.create(makeTunnel("db", { replicas: 1 }));
    const isReady = async () => conditionOf(await objects.get(resources.tunnel, "db")) === "True AllPairsReady";
    await site.until("ready", isReady);
    await untilAtRest(site);
    const [pods, secret] = [await consumedPods(site, "db"), await objects.get(resources.secret, "db-secret")];
    expect(pods.length).toBe(1);
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
    await untilAtRest(site);
    expect(await consumedPods(site, "db")).toEqual(pods);
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

test("what may not be deleted is said, and the status goes on with the rest", async () => {
  await using site = await startSite("refused-delete");
  const { objects, plane, namespace } = site;
  const policy = `keep-${namespace}`;
  const kind = (name: string) => ({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: name,
    metadata: { name: policy },
  });
  await plane.apply([
    {
      ...kind("ValidatingAdmissionPolicy"),
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["DELETE"], resources: ["services"] }],
        },
        validations: [{ expression: "false", message: "Services stay" }],
      },
    },
    {
      ...kind("ValidatingAdmissionPolicyBinding"),
      spec: {
        policyName: policy,
        validationActions: ["Deny"],
        matchResources: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } },
      },
    },
  ]);
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
    expect(updated.message).toContain("Services stay");
    await untilAtRest(site);
    expect(
      (await site.requests())["delete services 403"] ?? (await site.requests())["delete services 422"],
    ).toBeLessThan(5);
  } finally {
    await plane.kubectl(["delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", policy]);
  }
}, 60_000);

describe("another release", () => {
  const timing = {
    leader: { duration: 3000, renewDeadline: 2000, retry: 200 },
    guard: { duration: 3000, renewDeadline: 2000, retry: 200 },
  };

  test("that serves the same namespace waits, says so and takes over when the first one has ended", async () => {
    await using site = await startSite("first", { operator: { timing } });
    const { plane, namespace, objects } = site;
    const other = `${namespace}-other`;
    await plane.createNamespace(other);
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "leader", namespace: other },
    };
    await plane.apply([
      { ...role, rules: rbac.leaderElection },
      {
        ...{ ...role, kind: "RoleBinding" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "leader" },
        subjects: [{ kind: "ServiceAccount", name: "operator", namespace }],
      },
    ]);
    await site.until("the first leads", () => leads(site.operator));
    await using second = site.startReplica({ leaseNamespace: other });
    const words = `the release in namespace ${namespace} serves these objects already`;
    await site.until("the second waits", async () => second.operator.notReady() === words);
    await objects.create(makeTunnel("db"));
    await site.until("served", async () => (await objects.get(resources.tunnel, "db"))?.status !== undefined);
    expect([await leads(second.operator), site.operator.notReady()]).toEqual([false, undefined]);
    await site.operator.stop();
    await site.until(
      "the second leads",
      async () => (await leads(second.operator)) && second.operator.notReady() === undefined,
    );
    const lease = await plane.api.request<{ spec: { holderIdentity: string } }>(
      `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${guardName}`,
    );
    expect(lease.spec.holderIdentity).toBe(other);
    await plane.api.request(`/api/v1/namespaces/${other}`, { method: "DELETE" });
  }, 60_000);
});

test("a namespace that is not there, or without its Role, keeps no other from being served, and is served once it can be", async () => {
  await using site = await startSite("gated");
  const { objects, plane, namespace } = site;
  const late = `${namespace}-late`;
  await site.restart({ namespaces: [namespace, late] });
  await objects.create(makeTunnel("db"));
  await site.until("served", async () => (await objects.get(resources.tunnel, "db"))?.status !== undefined);
  expect(site.operator.notReady()).toBeUndefined();
  expect(site.log).toContainEqual(
    expect.objectContaining({
      level: "warn",
      message: "a namespace is left alone until it can be read",
      namespace: late,
    }),
  );
  await plane.createNamespace(late);
  await plane.api.request(`/apis/netaminity.exeteres.net/v1/namespaces/${late}/tunnels`, { body: makeTunnel("db") });
  const role = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "operator", namespace: late },
  };
  await plane.apply([
    { ...role, rules: [...rbac.namespaced, ...rbac.guard] },
    {
      ...{ ...role, kind: "RoleBinding" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "operator" },
      subjects: [{ kind: "ServiceAccount", name: "operator", namespace }],
    },
  ]);
  const path = `/apis/netaminity.exeteres.net/v1/namespaces/${late}/tunnels/db`;
  await site.until("served there too", async () => (await plane.api.request<Live>(path)).status !== undefined);
  await plane.api.request(`/api/v1/namespaces/${late}`, { method: "DELETE" });
}, 60_000);
