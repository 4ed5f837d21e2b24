import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { RbacV1Subject, V1ClusterRole, V1PolicyRule, V1RoleBinding } from "@kubernetes/client-node";
import { parse } from "yaml";
import { chart, namesOf, only, render } from "./helm.ts";

setDefaultTimeout(60_000);

interface RuleFile {
  cluster: V1PolicyRule[];
  namespaced: V1PolicyRule[];
  platforms: V1PolicyRule[];
  guard: V1PolicyRule[];
  leaderElection: V1PolicyRule[];
}

const rules: RuleFile = parse(await Bun.file(join(chart, "files/rbac.yaml")).text());
const operator: RbacV1Subject[] = [{ kind: "ServiceAccount", name: "netaminity", namespace: "netaminity-system" }];

describe("rights of the operator", () => {
  test("are cluster-wide when it watches all namespaces", async () => {
    const objects = await render();
    const role = only<V1ClusterRole>(objects, "ClusterRole", "netaminity-system-netaminity");
    expect(role.rules).toEqual([...rules.cluster, ...rules.namespaced, ...rules.platforms]);
    expect(only<V1RoleBinding>(objects, "ClusterRoleBinding").subjects).toEqual(operator);
  });

  test("are those of each watched namespace, and none cluster-wide", async () => {
    const objects = await render({ config: { watchNamespaces: ["team-a", "team-b"] } });
    const inNamespaces = objects.filter(({ metadata }) => metadata.namespace?.startsWith("team-"));
    expect(namesOf(inNamespaces)).toEqual([
      "Role team-a/netaminity",
      "Role team-b/netaminity",
      "RoleBinding team-a/netaminity",
      "RoleBinding team-b/netaminity",
    ]);
    const here = [...rules.namespaced, ...rules.platforms, ...rules.guard];
    for (const object of inNamespaces) {
      if (object.kind === "Role") expect((object as V1ClusterRole).rules).toEqual(here);
      else expect((object as V1RoleBinding).subjects).toEqual(operator);
    }
    const ofPeople = /-(view|edit)$/;
    const clusterWide = objects.filter(
      ({ kind, metadata }) => /^ClusterRole/.test(kind) && !ofPeople.test(metadata.name),
    );
    expect(namesOf(clusterWide)).toEqual([]);
  });

  test("to elect a leader are in the release's namespace only", async () => {
    const objects = await render();
    const role = only(objects, "Role", "netaminity-leader");
    expect(role.metadata.namespace).toBe("netaminity-system");
    expect((role as V1ClusterRole).rules).toEqual(rules.leaderElection);
  });

  test("never hold a wildcard, nor a way to get more rights", async () => {
    const all = Object.values(rules).flat();
    const words = all.flatMap((rule) => [...(rule.apiGroups ?? []), ...(rule.resources ?? []), ...rule.verbs]);
    const forbidden = ["*", "escalate", "bind", "impersonate", "roles", "clusterroles", "pods/exec"];
    expect(words.filter((word) => forbidden.includes(word))).toEqual([]);
  });

  test("can be left to the administrator", async () => {
    const objects = await render({
      rbac: { create: false, aggregateRoles: false },
      serviceAccount: { create: false, name: "mine" },
    });
    expect(objects.filter(({ kind }) => /Role|ServiceAccount/.test(kind))).toEqual([]);
    const deployment = only<{ spec: { template: { spec: { serviceAccountName: string } } } }>(objects, "Deployment");
    expect(deployment.spec.template.spec.serviceAccountName).toBe("mine");
  });
});

describe("rights of people", () => {
  test("view reads the three kinds, edit writes them but not their status", async () => {
    const objects = await render();
    const [view, edit] = ["view", "edit"].map((name) =>
      only<V1ClusterRole>(objects, "ClusterRole", `netaminity-system-netaminity-${name}`),
    );
    expect(view?.rules).toEqual([
      {
        apiGroups: ["netaminity.exeteres.net"],
        resources: ["tunnels", "proxies", "targets"].flatMap((kind) => [kind, `${kind}/status`, `${kind}/scale`]),
        verbs: ["get", "list", "watch"],
      },
    ]);
    expect(edit?.rules).toEqual([
      {
        apiGroups: ["netaminity.exeteres.net"],
        resources: ["tunnels", "proxies", "targets"],
        verbs: ["create", "update", "patch", "delete", "deletecollection"],
      },
      {
        apiGroups: ["netaminity.exeteres.net"],
        resources: ["tunnels/scale", "proxies/scale", "targets/scale"],
        verbs: ["update", "patch"],
      },
    ]);
    const aggregates = (role: V1ClusterRole | undefined) =>
      Object.keys(role?.metadata?.labels ?? {}).filter((label) => label.includes("aggregate-to-"));
    expect(aggregates(view)).toEqual(
      ["view", "edit", "admin"].map((to) => `rbac.authorization.k8s.io/aggregate-to-${to}`),
    );
    expect(aggregates(edit)).toEqual(["edit", "admin"].map((to) => `rbac.authorization.k8s.io/aggregate-to-${to}`));
  });
});
