import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { V1Deployment, V1DeploymentList, V1SubjectAccessReview } from "@kubernetes/client-node";
import packageFile from "../../package.json" with { type: "json" };
import { CommandError } from "../support/cluster/command.ts";
import { type ControlPlane, startControlPlane, waitFor } from "../support/cluster/index.ts";
import { type RunningProcess, startProcess } from "../support/process.ts";
import { chart, renderText, repository } from "./helm.ts";

setDefaultTimeout(120_000);

const namespace = "netaminity-system";
const kinds = [
  "customresourcedefinitions,deployments,services,serviceaccounts,configmaps,poddisruptionbudgets,networkpolicies",
  "clusterroles,clusterrolebindings,roles,rolebindings",
].join(",");

/** Less than a test's time, so that the wait itself says what did not come. */
const soon = { deadline: 60_000 };

const main = join(repository, "src/main.ts");

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane({ controllerManager: true });
  // A pod that breaks `restricted` cannot be made here.
  await plane.createNamespace(namespace, { "pod-security.kubernetes.io/enforce": "restricted" });
  await plane.createNamespace("team-a");
});
afterAll(() => plane?.stop());

const helm = (...args: string[]) => plane.helm([...args, "--namespace", namespace]);
const kubectl = (...args: string[]) => plane.kubectl(args);

/** `Kind namespace/name` of everything that carries the release's label. */
async function owned(): Promise<string[]> {
  const columns = "custom-columns=K:.kind,NS:.metadata.namespace,N:.metadata.name";
  const text = await kubectl(
    ...["get", kinds, "--all-namespaces", "--selector", "app.kubernetes.io/instance=netaminity"],
    ...["--no-headers", "--output", columns],
  ).catch((error: unknown) => {
    if (String(error).includes("No resources found")) return "";
    throw error;
  });
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines
    .map((line) =>
      line
        .trim()
        .replace(/^(\S+)\s+(\S+)\s+(\S+)$/, "$1 $2/$3")
        .replace("<none>", ""),
    )
    .sort();
}

const definitions = ["proxies", "targets", "tunnels"].map(
  (plural) => `CustomResourceDefinition /${plural}.netaminity.exeteres.net`,
);

/** Whether a user may `verb` such resources (`plural.group`) in a namespace, absent: in all, as the API server decides it. */
async function may(user: string, verb: string, resources: string, inNamespace?: string): Promise<boolean> {
  const [path = "", ...group] = resources.split(".");
  const [resource, subresource] = path.split("/");
  const resourceAttributes = { verb, group: group.join("."), resource, subresource, namespace: inNamespace };
  const review = await plane.api.request<V1SubjectAccessReview>("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
    body: { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec: { user, resourceAttributes } },
  });
  return review.status?.allowed === true;
}

const operatorUser = `system:serviceaccount:${namespace}:netaminity`;
const tunnels = "tunnels.netaminity.exeteres.net";

const deploymentPath = `/apis/apps/v1/namespaces/${namespace}/deployments/netaminity`;

/** The operator as a process of this machine, with the environment and the rights that its Deployment has. */
async function startOperator(): Promise<{ process: RunningProcess; isReady: () => Promise<boolean> }> {
  const [{ spec }, kubeconfig] = await Promise.all([
    plane.api.request<V1Deployment>(deploymentPath),
    plane.serviceAccountKubeconfig(namespace, "netaminity"),
  ]);
  const [container] = spec?.template.spec?.containers ?? [];
  const variables = (container?.env ?? []).map(({ name, value, valueFrom }) => {
    const field = valueFrom?.fieldRef?.fieldPath;
    return [name, value ?? (field === "metadata.namespace" ? namespace : "")] as const;
  });
  const operator = startProcess([process.execPath, "run", main, ...(container?.args ?? [])], {
    ...Object.fromEntries(variables),
    KUBECONFIG: kubeconfig,
    NETAMINITY_HEALTH_LISTEN: "127.0.0.1:0",
  });
  const { fields } = await operator.log.first("listening", {}, soon.deadline);
  return { process: operator, isReady: async () => (await fetch(`http://${fields.health}/readyz`)).ok };
}

const complaints = ({ log }: RunningProcess) => log.lines.filter(({ level }) => level === "warn" || level === "error");

/** Images of the agents that the operator has made Deployments for. */
async function agentImages(): Promise<string[]> {
  const path = "/apis/apps/v1/namespaces/team-a/deployments?labelSelector=app.kubernetes.io/managed-by%3Dnetaminity";
  const { items } = await plane.api.request<V1DeploymentList>(path);
  return items.flatMap(({ spec }) => (spec?.template.spec?.containers ?? []).map(({ image = "" }) => image));
}

const tunnel = `
apiVersion: netaminity.exeteres.net/v1
kind: Tunnel
metadata: { name: private-api, namespace: team-a }
spec:
  service: { name: private-api, port: 30080 }
  target: { endpoint: "private-api.private.svc:8080" }
`;

describe("on a real API server", () => {
  test("every object is accepted without an unknown field, whatever is switched on", async () => {
    const manifest = await renderText({
      operator: {
        replicas: 2,
        topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" }],
      },
      config: { proxyHost: "203.0.113.1", watchNamespaces: ["team-a"] },
      podDisruptionBudget: { enabled: true },
      networkPolicy: { enabled: true, metricsFrom: [{ namespaceSelector: {} }] },
      metrics: { dashboard: { enabled: true } },
    });
    const said = await plane.kubectl(
      ["apply", "--server-side", "--dry-run=server", "--validate=strict", "--filename", "-"],
      {
        input: manifest,
      },
    );
    const lines = said.trimEnd().split("\n");
    expect(lines.length).toBeGreaterThan(14);
    expect(lines.filter((line) => !line.endsWith("serverside-applied (server dry run)"))).toEqual([]);
  });

  test("install makes a release whose pods may run under restricted, and whose rights are enough and no more", async () => {
    const notes = await helm("install", "netaminity", chart);
    const [, firstTunnel = ""] = /^kubectl apply -f - <<YAML\n([\s\S]*?)^YAML$/m.exec(notes) ?? [];
    const applied = await plane.kubectl(["apply", "--dry-run=server", "--filename", "-"], { input: firstTunnel });
    expect(applied).toContain("tunnel.netaminity.exeteres.net/private-api created");
    expect(await owned()).toEqual(
      [
        ...definitions,
        "ClusterRole /netaminity-system-netaminity",
        "ClusterRole /netaminity-system-netaminity-edit",
        "ClusterRole /netaminity-system-netaminity-view",
        "ClusterRoleBinding /netaminity-system-netaminity",
        `Deployment ${namespace}/netaminity`,
        `PodDisruptionBudget ${namespace}/netaminity`,
        "Role default/netaminity-system-netaminity",
        "RoleBinding default/netaminity-system-netaminity",
        `Role ${namespace}/netaminity-leader`,
        `RoleBinding ${namespace}/netaminity-leader`,
        `Service ${namespace}/netaminity-metrics`,
        `ServiceAccount ${namespace}/netaminity`,
      ].sort(),
    );
    // The ReplicaSet's pod was admitted; without nodes it stays pending.
    await waitFor("a pod of the operator", soon, async () => {
      const pods = await kubectl("get", "pods", "--namespace", namespace, "--output", "name");
      return pods.trim() !== "";
    });

    expect(await may(operatorUser, "watch", tunnels)).toBe(true);
    expect(await may(operatorUser, "patch", "deployments.apps", "team-a")).toBe(true);
    expect(await may(operatorUser, "create", "leases.coordination.k8s.io", namespace)).toBe(true);
    expect(await may(operatorUser, "create", "leases.coordination.k8s.io", "team-a")).toBe(false);
    expect(await may(operatorUser, "create", "pods", "team-a")).toBe(false);
    expect(await may(operatorUser, "delete", tunnels, "team-a")).toBe(false);
  });

  test("people with view read tunnels, people with edit make them", async () => {
    await kubectl("create", "rolebinding", "eve", "--clusterrole", "view", "--user", "eve", "--namespace", "team-a");
    await kubectl("create", "rolebinding", "ann", "--clusterrole", "edit", "--user", "ann", "--namespace", "team-a");
    // Roles are aggregated by a controller, a moment after they are made.
    await waitFor("aggregated roles", soon, () => may("ann", "create", tunnels, "team-a"));
    await waitFor("aggregated roles", soon, () => may("eve", "list", tunnels, "team-a"));
    expect(await may("eve", "create", tunnels, "team-a")).toBe(false);
    expect(await may("ann", "update", "tunnels/status.netaminity.exeteres.net", "team-a")).toBe(false);
    await plane.kubectl(["create", "--as", "ann", "--filename", "-"], { input: tunnel });
  });

  test("the operator works with the settings and the rights of the release", async () => {
    const { process, isReady } = await startOperator();
    await using _ = process;
    await waitFor("a ready operator", soon, isReady);
    // The target's Deployment follows when the proxy's endpoint is known.
    await waitFor("Deployments of the tunnel", soon, async () => (await agentImages()).length === 2);
    const image = `ghcr.io/exeteres/netaminity:${packageFile.version}`;
    expect(await agentImages()).toEqual([image, image]);
    expect(complaints(process)).toEqual([]);
    process.signal("SIGTERM");
    expect(await process.exited(soon.deadline)).toBe(0);
  });

  test("upgrade follows changed values, keeps the tunnels, and takes wide rights back", async () => {
    await helm(
      ...["upgrade", "netaminity", chart, "--set", "operator.replicas=2,podDisruptionBudget.enabled=true"],
      ...["--set", "config.proxyHost=203.0.113.1,config.watchNamespaces={team-a}"],
    );
    const names = await owned();
    expect(names.filter((name) => /^(ClusterRole|Role|PodD)/.test(name))).toEqual([
      "ClusterRole /netaminity-system-netaminity-edit",
      "ClusterRole /netaminity-system-netaminity-view",
      `PodDisruptionBudget ${namespace}/netaminity`,
      `Role ${namespace}/netaminity-leader`,
      "Role team-a/netaminity",
      `RoleBinding ${namespace}/netaminity-leader`,
      "RoleBinding team-a/netaminity",
    ]);
    const deployment = await plane.api.request<V1Deployment>(deploymentPath);
    const environment = deployment.spec?.template.spec?.containers[0]?.env ?? [];
    expect([
      deployment.spec?.replicas,
      environment.find(({ name }) => name === "NETAMINITY_PROXY_HOST")?.value,
    ]).toEqual([2, "203.0.113.1"]);
    expect(await may(operatorUser, "list", "secrets", "team-a")).toBe(true);
    expect(await may(operatorUser, "list", "secrets", "kube-system")).toBe(false);
    expect(await kubectl("get", "tunnels", "--namespace", "team-a", "--output", "name")).toContain("private-api");
  });

  test("the operator works with the narrow rights too", async () => {
    await kubectl("delete", "deployments", "--all", "--namespace", "team-a");
    const { process, isReady } = await startOperator();
    await using _ = process;
    await waitFor("a ready operator", soon, isReady);
    await waitFor("Deployments of the tunnel", soon, async () => (await agentImages()).length === 2);
    expect(complaints(process)).toEqual([]);
    process.signal("SIGTERM");
    expect(await process.exited(soon.deadline)).toBe(0);
  });

  test("upgrade says what to do about a namespace that is not there, before it changes anything", async () => {
    const upgrade = (namespaces: string) =>
      helm("upgrade", "netaminity", chart, "--set", `config.watchNamespaces={${namespaces}}`);
    const before = await plane.api.request<V1Deployment>(deploymentPath);
    const refused = await upgrade("team-a,team-gone").then(
      () => "accepted",
      (error: Error) => (error instanceof CommandError ? error.stderr : error.message),
    );
    expect(refused).toContain(
      "config.watchNamespaces: namespace team-gone is not there, so no Role can be made in it: create it first (kubectl create namespace team-gone), or take it out of config.watchNamespaces",
    );
    const after = await plane.api.request<V1Deployment>(deploymentPath);
    expect(after.spec).toEqual(before.spec);
  });

  test("a definition that was changed by hand is put back by an upgrade", async () => {
    const name = "targets.netaminity.exeteres.net";
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
    await plane.api.request(path, { method: "PATCH", body: { spec: { names: { shortNames: ["other"] } } } });
    await helm("upgrade", "netaminity", chart, "--force-conflicts");
    const shortNames = async () => await kubectl("get", "crd", name, "--output", "jsonpath={.spec.names.shortNames}");
    expect(await shortNames()).not.toContain("other");
  });

  test("uninstall leaves the definitions with the tunnels, and nothing else", async () => {
    await helm("uninstall", "netaminity");
    expect(await owned()).toEqual(definitions);
    expect(await kubectl("get", "tunnels", "--namespace", "team-a", "--output", "name")).toContain("private-api");
  });

  test("the next install takes the definitions over, and can take them away at its end", async () => {
    await helm("install", "netaminity", chart, "--set", "crds.keep=false");
    expect(await kubectl("get", "tunnels", "--namespace", "team-a", "--output", "name")).toContain("private-api");
    await helm("uninstall", "netaminity", "--wait");
    await waitFor("an empty cluster", soon, async () => (await owned()).length === 0);
  });
});
