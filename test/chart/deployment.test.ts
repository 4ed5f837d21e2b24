import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { V1Deployment } from "@kubernetes/client-node";
import packageFile from "../../package.json" with { type: "json" };
import { operatorRole } from "../../src/config/operator.ts";
import { variableOf } from "../../src/config/table.ts";
import { healthPort } from "../../src/names.ts";
import { namesOf, only, render } from "./helm.ts";

setDefaultTimeout(60_000);

async function deployment(values: object = {}, options = {}): Promise<V1Deployment> {
  return only<V1Deployment>(await render(values, options), "Deployment");
}

function podOf({ spec }: V1Deployment) {
  const pod = spec?.template.spec;
  const container = pod?.containers[0];
  if (!spec || !pod || !container) throw new Error("the Deployment has no container");
  return { pod, container, template: spec.template.metadata ?? {} };
}

const environmentOf = (object: V1Deployment) =>
  Object.fromEntries(
    (podOf(object).container.env ?? []).map(({ name, value, valueFrom }) => [name, value ?? valueFrom]),
  );

describe("the chart with its default values", () => {
  test("makes these objects, and besides them only the definitions", async () => {
    const objects = await render();
    expect(namesOf(objects)).toEqual([
      "ClusterRole /netaminity-system-netaminity",
      "ClusterRole /netaminity-system-netaminity-edit",
      "ClusterRole /netaminity-system-netaminity-view",
      "ClusterRoleBinding /netaminity-system-netaminity",
      "Deployment netaminity-system/netaminity",
      "PodDisruptionBudget netaminity-system/netaminity",
      "Role default/netaminity-system-netaminity",
      "Role netaminity-system/netaminity-leader",
      "RoleBinding default/netaminity-system-netaminity",
      "RoleBinding netaminity-system/netaminity-leader",
      "Service netaminity-system/netaminity-metrics",
      "ServiceAccount netaminity-system/netaminity",
    ]);
  });

  test("runs the operator's role of the image of its own version, and makes agents of the same image", async () => {
    const object = await deployment();
    const { container, pod } = podOf(object);
    const image = `ghcr.io/exeteres/netaminity:${packageFile.version}`;
    expect([container.image, container.imagePullPolicy, container.args]).toEqual([image, "IfNotPresent", ["operator"]]);
    expect(pod.serviceAccountName).toBe("netaminity");
    expect(environmentOf(object)).toEqual({
      NETAMINITY_AGENT_IMAGE: image,
      NETAMINITY_AGENT_IMAGE_PULL_POLICY: "IfNotPresent",
      NETAMINITY_DRAIN_TIMEOUT: "30s",
      NETAMINITY_LOG_FORMAT: "json",
      NETAMINITY_LOG_LEVEL: "info",
      NETAMINITY_MAX_ROLLOUTS: "10%",
      NETAMINITY_WORKERS: "4",
      POD_NAMESPACE: { fieldRef: { fieldPath: "metadata.namespace" } },
    });
  });

  test("asks the operator's health server for liveness and readiness", async () => {
    const { container } = podOf(await deployment());
    expect(container.ports).toEqual([{ name: "health", containerPort: healthPort }]);
    expect(container.livenessProbe?.httpGet).toEqual({ path: "/healthz", port: "health" });
    expect(container.readinessProbe?.httpGet).toEqual({ path: "/readyz", port: "health" });
  });
});

describe("values", () => {
  test("of the settings reach the operator as its environment", async () => {
    const digest = `sha256:${"a".repeat(64)}`;
    // Helm writes keys in alphabetical order.
    const podTemplate = { annotations: { note: 'a "b" <c>\\d' }, tolerations: [{ tolerationSeconds: 300 }] };
    const from = [{ namespaceSelector: {} }];
    const environment = environmentOf(
      await deployment({
        config: {
          proxyHost: "2001:db8::1",
          watchNamespaces: ["a", "b"],
          workers: 9,
          logLevel: "debug",
          agent: { logLevel: "warn", logFormat: "pretty" },
          maxRollouts: 3,
          logFormat: "pretty",
          podTemplate,
          networkPolicy: { from },
        },
        agent: {
          image: { repository: "localhost:5000/agent", digest, pullPolicy: "Never" },
          imagePullSecrets: [{ name: "one" }, { name: "two" }],
          drainTimeout: "2m",
        },
      }),
    );
    expect(environment).toEqual({
      NETAMINITY_AGENT_IMAGE: `localhost:5000/agent@${digest}`,
      NETAMINITY_AGENT_IMAGE_PULL_POLICY: "Never",
      NETAMINITY_AGENT_IMAGE_PULL_SECRETS: "one,two",
      NETAMINITY_DRAIN_TIMEOUT: "2m",
      NETAMINITY_LOG_FORMAT: "pretty",
      NETAMINITY_LOG_LEVEL: "debug",
      NETAMINITY_AGENT_LOG_LEVEL: "warn",
      NETAMINITY_AGENT_LOG_FORMAT: "pretty",
      NETAMINITY_AGENT_POD_TEMPLATE: JSON.stringify(podTemplate),
      NETAMINITY_AGENT_NETWORK_POLICY: JSON.stringify({ from }),
      NETAMINITY_MAX_ROLLOUTS: "3",
      NETAMINITY_NAMESPACE: "a,b",
      NETAMINITY_PROXY_HOST: "2001:db8::1",
      NETAMINITY_WORKERS: "9",
      POD_NAMESPACE: { fieldRef: { fieldPath: "metadata.namespace" } },
    });
  });

  test("reach the operator only by names that it knows", async () => {
    const known = Object.entries(operatorRole.settings).flatMap(([name, { borrowedVariable }]) => [
      variableOf(name),
      ...(borrowedVariable === undefined ? [] : [borrowedVariable]),
    ]);
    const values = {
      config: {
        proxyHost: "h",
        watchNamespaces: ["a"],
        podTemplate: { nodeSelector: { a: "b" } },
        networkPolicy: { from: [{ podSelector: {} }] },
      },
      agent: { imagePullSecrets: [{ name: "one" }] },
    };
    expect(Object.keys(environmentOf(await deployment(values))).filter((name) => !known.includes(name))).toEqual([]);
  });

  test("of the pod reach the pod", async () => {
    const tolerations = [{ key: "a", operator: "Exists", effect: "NoSchedule" }];
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } };
    const spread = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" };
    const object = await deployment({
      commonLabels: { team: "network" },
      operator: {
        replicas: 3,
        image: { repository: "localhost/netaminity", tag: "dev", pullPolicy: "Never" },
        imagePullSecrets: [{ name: "one" }],
        resources: { limits: { memory: "1Gi" } },
        podSecurityContext: { fsGroup: 1 },
        securityContext: { runAsUser: 7 },
        nodeSelector: { disk: "ssd" },
        tolerations,
        affinity: { nodeAffinity },
        topologySpreadConstraints: [spread],
        priorityClassName: "high",
        runtimeClassName: "gvisor",
        annotations: { of: "deployment" },
        podAnnotations: { of: "pod" },
        podLabels: { extra: "label" },
        extraArgs: ["--log-level=debug"],
        extraEnv: [{ name: "A", value: "b" }],
        terminationGracePeriodSeconds: 99,
      },
    });
    const { pod, container, template } = podOf(object);
    const selector = {
      "app.kubernetes.io/name": "netaminity",
      "app.kubernetes.io/instance": "netaminity",
      "app.kubernetes.io/component": "operator",
    };
    expect(object.spec?.replicas).toBe(3);
    expect(object.metadata?.annotations).toEqual({ of: "deployment" });
    expect(object.metadata?.labels).toMatchObject({ team: "network" });
    expect(object.spec?.selector.matchLabels).toEqual(selector);
    expect(template.annotations).toMatchObject({ of: "pod" });
    expect(template.labels).toMatchObject({ ...selector, extra: "label", team: "network" });
    expect(pod).toMatchObject({
      imagePullSecrets: [{ name: "one" }],
      securityContext: { fsGroup: 1, runAsNonRoot: true },
      nodeSelector: { disk: "ssd" },
      tolerations,
      affinity: { nodeAffinity },
      topologySpreadConstraints: [{ ...spread, labelSelector: { matchLabels: selector } }],
      priorityClassName: "high",
      runtimeClassName: "gvisor",
      terminationGracePeriodSeconds: 99,
    });
    expect(container).toMatchObject({
      image: "localhost/netaminity:dev",
      imagePullPolicy: "Never",
      args: ["operator", "--log-level=debug"],
      resources: { limits: { memory: "1Gi" } },
      securityContext: { runAsUser: 7, allowPrivilegeEscalation: false },
    });
    expect(container.env?.at(-1)).toEqual({ name: "A", value: "b" });
  });

  test("an affinity replaces the wish for different nodes, and only that", async () => {
    const own = podOf(await deployment()).pod.affinity;
    expect(own?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution).toHaveLength(1);
    const given = podOf(await deployment({ operator: { affinity: { podAffinity: {} } } })).pod.affinity;
    expect(given).toEqual({ podAffinity: {} });
  });

  test("two releases in two namespaces share no name of a cluster-wide object", async () => {
    const clusterWide = async (namespace: string) => {
      const objects = await render({}, { namespace, release: "tunnels" });
      return namesOf(objects.filter(({ metadata }) => metadata.namespace === undefined));
    };
    const [one, other] = await Promise.all([clusterWide("one"), clusterWide("other")]);
    expect(one.filter((name) => other.includes(name))).toEqual([]);
    expect(one).toHaveLength(4);
  });

  test("a long release name is cut so that every name is one that Kubernetes accepts", async () => {
    const release = "r".repeat(53);
    const objects = await render({}, { release });
    const long = objects
      .map(({ metadata }) => metadata.name)
      .filter((name) => name.length > 63 + "netaminity-system-".length);
    expect(long).toEqual([]);
    expect(only(objects, "Service").metadata.name.length).toBeLessThanOrEqual(63);
  });
});
