import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { V1ClusterRole, V1DaemonSet, V1Job } from "@kubernetes/client-node";
import { namesOf, only, type Rendered, refusal, render } from "./helm.ts";

setDefaultTimeout(60_000);

const on = (more: object = {}) => ({ node: { enabled: true, ...more } });
const ofNode = (objects: readonly Rendered[]) =>
  objects.filter(({ metadata }) => metadata.labels["app.kubernetes.io/component"]?.startsWith("node"));
const everything = {
  metrics: { podMonitor: { enabled: true }, rules: { enabled: true }, serviceMonitor: { enabled: true } },
  networkPolicy: { enabled: true },
};

describe("the role node", () => {
  test("is off by default: without it nothing of it is made or granted, and with it nothing else changes", async () => {
    const [off, withIt] = [await render(everything), await render({ ...everything, ...on() })];
    expect(ofNode(off)).toEqual([]);
    expect(JSON.stringify(off)).not.toMatch(/NET_ADMIN|hostNetwork|netaminity_node/);
    const others = withIt.filter((object) => !ofNode(withIt).includes(object));
    const comparable = (objects: readonly Rendered[]) => objects.filter(({ kind }) => kind !== "PrometheusRule");
    expect(comparable(others)).toEqual(comparable(off));
  });

  test("is a DaemonSet with its rights and its monitor", async () => {
    expect(namesOf(ofNode(await render({ ...everything, ...on({ cleanup: false }) })))).toEqual([
      "ClusterRole /netaminity-system-netaminity-node",
      "ClusterRoleBinding /netaminity-system-netaminity-node",
      "DaemonSet netaminity-system/netaminity-node",
      "PodMonitor netaminity-system/netaminity-node",
      "ServiceAccount netaminity-system/netaminity-node",
    ]);
  });

  test("has one capability on the node's network and no other right on the node", async () => {
    const daemonSet = only<V1DaemonSet>(await render(on({ cleanup: false })), "DaemonSet");
    const pod = daemonSet.spec?.template.spec;
    expect(pod?.hostNetwork).toBe(true);
    expect([pod?.hostPID, pod?.hostIPC, pod?.volumes, pod?.initContainers]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(pod?.containers.map(({ securityContext }) => securityContext)).toEqual([
      {
        runAsUser: 0,
        runAsGroup: 0,
        runAsNonRoot: false,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"], add: ["NET_ADMIN"] },
        seccompProfile: { type: "RuntimeDefault" },
      },
    ]);
    expect([pod?.tolerations, pod?.priorityClassName, daemonSet.spec?.updateStrategy]).toEqual([
      [{ operator: "Exists" }],
      "system-node-critical",
      { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%" } },
    ]);
  });

  test("may read Services, EndpointSlices and Nodes, and write Events", async () => {
    const role = only<V1ClusterRole>(
      await render(on({ cleanup: false })),
      "ClusterRole",
      "netaminity-system-netaminity-node",
    );
    expect(role.rules?.map(({ resources, verbs }) => `${resources}: ${verbs}`)).toEqual([
      "services: list,watch",
      "endpointslices: list,watch",
      "nodes: list,watch",
      "events: create,patch",
    ]);
  });

  test("gets its settings as its environment, in which the user's own win", async () => {
    const values = on({
      compat: { cozystack: true },
      masquerade: { interfaces: ["netsody", "wg0"] },
      podCidrs: ["10.42.0.0/16"],
      serviceCidrs: ["10.43.0.0/16"],
      healthPort: 9999,
      extraEnv: [{ name: "NETAMINITY_LOG_LEVEL", value: "debug" }],
      cleanup: false,
    });
    const daemonSet = only<V1DaemonSet>(await render(values), "DaemonSet");
    const [container] = daemonSet.spec?.template.spec?.containers ?? [];
    expect(
      Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value ?? "from the pod"])),
    ).toEqual({
      NETAMINITY_LOG_LEVEL: "debug",
      NETAMINITY_LOG_FORMAT: "json",
      NETAMINITY_HEALTH_LISTEN: "[::]:9999",
      NETAMINITY_COMPAT_COZYSTACK: "true",
      NODE_NAME: "from the pod",
      NETAMINITY_POD_CIDR: "10.42.0.0/16",
      NETAMINITY_SERVICE_CIDR: "10.43.0.0/16",
      NETAMINITY_MASQUERADE: "true",
      NETAMINITY_MESH_INTERFACE: "netsody,wg0",
      NETAMINITY_MASQUERADE_ALL: "false",
    });
    expect(container?.ports).toEqual([{ name: "health", containerPort: 9999, hostPort: 9999 }]);
  });

  test("is cleaned up on uninstall, on every node, with the right to see that it is done", async () => {
    const hooks = ofNode(await render(on())).filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"]);
    expect(hooks.map(({ kind, metadata }) => [kind, metadata.annotations?.["helm.sh/hook"]]).sort()).toEqual(
      ["ServiceAccount", "Role", "RoleBinding", "DaemonSet", "Job"].map((kind) => [kind, "post-delete"]).sort(),
    );
    const argsOf = (kind: string) =>
      (hooks.find((each) => each.kind === kind) as V1DaemonSet | V1Job).spec?.template.spec?.containers[0]?.args;
    expect(argsOf("DaemonSet")).toEqual(["node", "--cleanup", "--stay"]);
    expect(argsOf("Job")).toEqual(["node", "--cleanup", "--await-daemonset=netaminity-system/netaminity-node-cleanup"]);
    // The same port on the node's network: none runs beside a pod that would write the tables again.
    const sets = ofNode(await render(on())).filter(({ kind }) => kind === "DaemonSet") as unknown as V1DaemonSet[];
    const ports = sets.map(({ spec }) => spec?.template.spec?.containers[0]?.ports?.[0]?.hostPort);
    expect(ports).toEqual([7836, 7836]);
  });

  test.each([
    [{ masquerade: { interfaces: ["a-name-that-is-too-long"] } }, "/node/masquerade/interfaces/0"],
    [{ podCidrs: ["10.0.0.0"] }, "/node/podCidrs/0"],
    [{ healthPort: 0 }, "/node/healthPort"],
  ])("refuses %j", async (values, word) => {
    expect(await refusal(on(values))).toContain(word);
  });
});
