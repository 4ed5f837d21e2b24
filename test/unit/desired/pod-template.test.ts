import { describe, expect, test } from "bun:test";
import type { PodTemplate } from "../../../src/api/pod-template.ts";
import { proxyDeployment } from "../../../src/desired/proxy-deployment.ts";
import {
  agent,
  containerOf,
  group,
  leave,
  lostNode,
  notReady,
  ownPreference,
  podSpecOf,
  selector,
  unreachable,
} from "../../support/agent-pods.ts";
import { makeProxy, makeTunnel, ourLabels } from "../../support/objects.ts";

describe("a podTemplate", () => {
  const zone = { topologyKey: "zone", labelSelector: { matchLabels: { app: "db" } } };
  const affinity = {
    podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [zone] },
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [zone],
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: zone }],
    },
  };

  test("keeps explicit affinity beside the distribution over nodes", () => {
    expect(podSpecOf({ affinity })?.affinity).toEqual({
      ...affinity,
      podAntiAffinity: {
        ...affinity.podAntiAffinity,
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: zone }, ownPreference],
      },
    });
  });

  test("can do without the distribution over nodes", () => {
    expect(podSpecOf({ distributeByNodes: false, affinity })?.affinity).toEqual(affinity);
    expect(podSpecOf({ distributeByNodes: false })?.affinity).toBeUndefined();
  });

  test("on the nodes' network still resolves cluster names and claims its ports", () => {
    const pod = podSpecOf({ hostNetwork: true, healthPort: 18080 });
    expect(pod).toMatchObject({ hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" });
    expect(pod?.containers[0]?.ports).toEqual([
      { name: "rendezvous", containerPort: 7835, hostPort: 7835, protocol: "TCP" },
      { name: "consumers", containerPort: 30080, hostPort: 30080, protocol: "TCP" },
      { name: "health", containerPort: 18080, hostPort: 18080, protocol: "TCP" },
    ]);
    expect(pod?.containers[0]?.env).toContainEqual({ name: "NETAMINITY_HEALTH_LISTEN", value: "[::]:18080" });
  });

  test("passes scheduling on", () => {
    const tolerations: PodTemplate["tolerations"] = [{ key: "dedicated", operator: "Exists", effect: "NoSchedule" }];
    const scheduling = {
      nodeSelector: { zone: "a" },
      tolerations,
      priorityClassName: "high",
      runtimeClassName: "gvisor",
      serviceAccountName: "agents",
    };
    expect(podSpecOf(scheduling)).toMatchObject({ ...scheduling, tolerations: [...tolerations, ...lostNode] });
  });

  test.each<[string, NonNullable<PodTemplate["tolerations"]>, object[]]>([
    ["one of the keys", [{ key: unreachable, operator: "Exists", tolerationSeconds: 300 }], [leave(notReady)]],
    ["one of the keys for another effect", [{ key: unreachable, operator: "Exists", effect: "NoSchedule" }], lostNode],
    ["every taint", [{ operator: "Exists" }], []],
    ["every taint that evicts", [{ operator: "Exists", effect: "NoExecute" }], []],
  ])("leaves it to the user how long a pod stays on a lost node: %s", (_, tolerations, added) => {
    expect(podSpecOf({ tolerations })?.tolerations).toEqual([...tolerations, ...added]);
  });

  test("leaves out what is empty", () => {
    const keys = Object.keys(
      podSpecOf({ tolerations: [], topologySpreadConstraints: [], priorityClassName: "", runtimeClassName: "" }) ?? {},
    );
    expect(keys).toEqual(Object.keys(podSpecOf({}) ?? {}));
  });

  test("spreads the workload's own pods when it does not say which", () => {
    const constraint = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" } as const;
    const explicit = { ...constraint, labelSelector: { matchLabels: { app: "db" } } };
    expect(podSpecOf({ topologySpreadConstraints: [constraint, explicit] })?.topologySpreadConstraints).toEqual([
      { ...constraint, labelSelector: { matchLabels: selector } },
      explicit,
    ]);
  });

  test("replaces the default resources as a whole", () => {
    expect(containerOf({ resources: { limits: { cpu: 2 } } })?.resources).toEqual({ limits: { cpu: "2" } });
  });

  test("replaces single fields of the security defaults", () => {
    const template: PodTemplate = {
      securityContext: { runAsUser: 1000, fsGroup: 1000 },
      containerSecurityContext: { capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } },
    };
    expect(podSpecOf(template)?.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: 1000,
      fsGroup: 1000,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(containerOf(template)?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] },
    });
  });

  test("leaves the user to the image or the platform, also when it is written as null", () => {
    const nobody: PodTemplate = { securityContext: { runAsUser: null, runAsGroup: null } };
    expect(podSpecOf(nobody)?.securityContext).toEqual({
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
    });
  });

  test("cannot add labels by which the Service of another tunnel finds pods", () => {
    const labels = { "netaminity.exeteres.net/tunnel": "other", team: "a" };
    const { metadata } =
      proxyDeployment(makeProxy({ podTemplate: { distributeByNodes: true, hostNetwork: false, labels } }), agent).spec
        ?.template ?? {};
    expect(metadata?.labels).toEqual({ ...ourLabels, ...selector, team: "a" });
  });

  test("adds labels and annotations to pods, but never over those that find them", () => {
    const podTemplate = {
      ...{ distributeByNodes: true, hostNetwork: false },
      labels: { team: "network", "app.kubernetes.io/component": "mine", [`${group}/tunnel`]: "theirs" },
      annotations: { note: "x" },
    };
    const { metadata } = proxyDeployment(ofTunnel(podTemplate), agent).spec?.template ?? {};
    expect(metadata).toEqual({
      labels: {
        team: "network",
        ...ourLabels,
        "app.kubernetes.io/component": "proxy",
        [`${group}/tunnel`]: "api",
        [`${group}/index`]: "1",
        [`${group}/proxy`]: "api-1",
      },
      annotations: { note: "x", [`${group}/health-port`]: "8080" },
    });
  });

  test("joins its pull Secrets with the operator's, each once", () => {
    const proxy = makeProxy({
      podTemplate: { distributeByNodes: true, hostNetwork: false, imagePullSecrets: [{ name: "a" }, { name: "b" }] },
    });
    const { spec } = proxyDeployment(proxy, { ...agent, pullSecrets: ["b", "c"] });
    expect(spec?.template.spec?.imagePullSecrets).toEqual([{ name: "a" }, { name: "b" }, { name: "c" }]);
  });

  function ofTunnel(podTemplate: NonNullable<Parameters<typeof makeProxy>[0]>["podTemplate"] & object) {
    return makeProxy({ podTemplate }, { name: "api-1", owner: makeTunnel() });
  }
});
