/** Who works where: other releases, and namespaces that cannot be read. */
import { describe, expect, test } from "bun:test";
import { guardName, type PolicyRule, rbac } from "../../src/operator/rbac.ts";
import { resources } from "../../src/operator/resources.ts";
import { isLookedAt, type Live, makeTunnel } from "./objects.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

describe("another release", () => {
  const short = { duration: 3000, renewDeadline: 2000, retry: 200 };
  const timing = { leader: short, guard: short, watch: { firstBackoff: 50, maxBackoff: 300 } };
  const group = "rbac.authorization.k8s.io";

  /** Lets the operator of the site do this in another namespace. */
  async function permit({ plane, namespace }: Site, where: string, rules: readonly PolicyRule[], name = "operator") {
    const role = { apiVersion: `${group}/v1`, kind: "Role", metadata: { name, namespace: where } };
    const subjects = [{ kind: "ServiceAccount", name: "operator", namespace }];
    const roleRef = { apiGroup: group, kind: "Role", name };
    await plane.apply([
      { ...role, rules },
      { ...role, kind: "RoleBinding", roleRef, subjects },
    ]);
  }
  const tunnelPath = (namespace: string) => `/apis/netaminity.exeteres.net/v1/namespaces/${namespace}/tunnels`;
  const isServed = async ({ plane }: Site, namespace: string) =>
    isLookedAt(await plane.api.request<Live>(`${tunnelPath(namespace)}/db`));
  const holderOf = async ({ plane }: Site, namespace: string) => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${guardName}`;
    return (await plane.api.request<{ spec: { holderIdentity?: string } }>(path)).spec.holderIdentity;
  };
  const leftAlone = async ({ operator }: { operator: Site["operator"] }) =>
    (await operator.metrics.expose()).body
      .split("\n")
      .filter((line) => line.startsWith("netaminity_operator_namespaces_left_alone{"))
      .map((line) => line.replace(/^.*reason="/, "").replace('"}', ""));

  test("that serves the same namespace waits for it, says so, serves its others, and takes over when the first one has ended", async () => {
    await using site = await startSite("first", { operator: { timing } });
    const { plane, namespace, objects } = site;
    const [other, free] = [`${namespace}-other`, `${namespace}-z-free`];
    await plane.createNamespace(other);
    await plane.createNamespace(free);
    await permit(site, other, rbac.leaderElection, "leader");
    await permit(site, free, [...rbac.namespaced, ...rbac.guard]);
    await site.until("the first holds it", async () => (await holderOf(site, namespace)) === namespace);
    await using second = site.startReplica({ leaseNamespace: other, namespaces: [namespace, free] });
    const words = `the release in namespace ${namespace} serves namespace ${namespace} already`;
    await site.until("the second waits", async () => second.operator.notReady() === words);
    await objects.create(makeTunnel("db"));
    await plane.api.request(tunnelPath(free), { body: makeTunnel("db") });
    await site.until("served by the first", () => isServed(site, namespace));
    await site.until("served by the second", () => isServed(site, free));
    expect([second.operator.notReady(), site.operator.notReady()]).toEqual([words, undefined]);
    expect(await leftAlone(second)).toEqual(["unreadable 0", "other-release 1"]);
    await untilAtRest(site);
    const { generation } = (await objects.get(resources.proxy, "db-0"))?.metadata ?? {};
    expect(generation).toBe(1);
    await site.operator.stop();
    await site.until("the second is ready", async () => second.operator.notReady() === undefined);
    expect(await holderOf(site, namespace)).toBe(other);
    await objects.patch(resources.tunnel, "db", { spec: { service: { port: 8001 } } });
    const portIs = async (port: number) => (await objects.get(resources.service, "db"))?.spec.ports[0].port === port;
    await site.until("served by the second", () => portIs(8001));
    for (const each of [other, free]) await plane.api.request(`/api/v1/namespaces/${each}`, { method: "DELETE" });
  }, 60_000);

  test("that was left without an end holds nothing for longer than its Lease says", async () => {
    await using site = await startSite("abandoned", { operator: { timing, namespaces: ["none-such"] } });
    const { plane, namespace, objects } = site;
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: guardName, namespace } };
    await plane.apply([{ ...lease, spec: { holderIdentity: "gone", leaseDurationSeconds: 3 } }]);
    await site.restart({ namespaces: [namespace] });
    const words = `the release in namespace gone serves namespace ${namespace} already`;
    await site.until("it waits", async () => site.operator.notReady() === words);
    await objects.create(makeTunnel("db"));
    await site.until("served", () => isServed(site, namespace));
    expect([site.operator.notReady(), await holderOf(site, namespace)]).toEqual([undefined, namespace]);
  }, 60_000);

  test("that serves one namespace of a cluster that this one serves has it to itself, until it ends", async () => {
    await using site = await startSite("whole", { clusterWide: true, operator: { timing } });
    const { plane, namespace, objects } = site;
    const part = `${namespace}-part`;
    await plane.createNamespace(part);
    // Its ClusterRole serves for both; a part has the Lease in its own namespace.
    await permit(site, part, [...rbac.guard, ...rbac.leaderElection]);
    await objects.create(makeTunnel("db"));
    await site.until("the cluster is served", () => isServed(site, namespace));
    const second = site.startReplica({ leaseNamespace: part, namespaces: [part] });
    await site.until("its part is left to it", async () => (await leftAlone(site)).includes("other-release 1"));
    expect(site.log).toContainEqual(
      expect.objectContaining({
        message: "another release serves the namespace: it is left alone",
        ...{ namespace: part, holder: part },
      }),
    );
    await plane.api.request(tunnelPath(part), { body: makeTunnel("db") });
    await site.until("served by the part", () => isServed(site, part));
    expect([site.operator.notReady(), second.operator.notReady()]).toEqual([undefined, undefined]);
    await second.operator.stop();
    await site.until("taken back", async () => (await leftAlone(site)).includes("other-release 0"));
    await plane.api.request(`${tunnelPath(part)}/db`, { method: "PATCH", body: { spec: { service: { port: 8001 } } } });
    const service = `/api/v1/namespaces/${part}/services/db`;
    await site.until("served again", async () => (await plane.api.request<Live>(service)).spec.ports[0].port === 8001);
    await plane.api.request(`/api/v1/namespaces/${part}`, { method: "DELETE" });
  }, 60_000);

  test("is looked for in each namespace by itself: one that is not there, where all may be read, keeps no other waiting", async () => {
    const rules = [...rbac.namespaced, ...rbac.guard];
    await using site = await startSite("absent", { clusterWide: true, rules, operator: { timing } });
    const { namespace, objects } = site;
    // It comes before the other in any order.
    await site.restart({ namespaces: ["a-none-such", namespace] });
    await objects.create(makeTunnel("db"));
    await site.until("served", () => isServed(site, namespace));
    expect(site.operator.notReady()).toBeUndefined();
  }, 60_000);
});

test("a namespace that is not there, or without its Role, keeps no other from being served, and is served once it can be", async () => {
  await using site = await startSite("gated");
  const { objects, plane, namespace } = site;
  const late = `${namespace}-late`;
  await site.restart({ namespaces: [namespace, late] });
  await objects.create(makeTunnel("db"));
  await site.until("served", async () => isLookedAt(await objects.get(resources.tunnel, "db")));
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
  await site.until("served there too", async () => isLookedAt(await plane.api.request<Live>(path)));
  await plane.api.request(`/api/v1/namespaces/${late}`, { method: "DELETE" });
}, 60_000);
