import { describe, expect, test } from "bun:test";
import { type Resource, resources } from "../../src/operator/resources.ts";
import { runPods } from "./kubelet.ts";
import { type Anything, conditionOf, makeProxy, makeSecret, makeTarget, makeTunnel } from "./objects.ts";
import { type Site, startSite } from "./site.ts";

/** One change of a spec: the merge patch, the child in which it must show, and what of it. */
interface SpecChange {
  change: object;
  child: [Resource, string];
  shows: (child: Anything) => unknown;
  as: unknown;
}

const podOf = (deployment: Anything) => deployment.spec.template.spec;
const containerOf = (deployment: Anything) => podOf(deployment).containers[0];
const environmentOf = (name: string) => (deployment: Anything) =>
  containerOf(deployment).env.find((variable: { name: string }) => variable.name === name)?.value;

/** The fields of a podTemplate; `template` puts one where the kind has it. */
function podTemplateChanges(template: (fields: object) => object, deployment: string): Record<string, SpecChange> {
  const child: [Resource, string] = [resources.deployment, deployment];
  const toleration = { key: "dedicated", operator: "Equal", value: "tunnel", effect: "NoSchedule" };
  const required = {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }],
      },
    },
  };
  const row = (fields: object, shows: SpecChange["shows"], as: unknown): SpecChange => ({
    change: template(fields),
    child,
    shows,
    as,
  });
  return {
    nodeSelector: row({ nodeSelector: { zone: "a" } }, (d) => podOf(d).nodeSelector, { zone: "a" }),
    "nodeSelector removed": row({ nodeSelector: null }, (d) => podOf(d).nodeSelector, undefined),
    tolerations: row({ tolerations: [toleration] }, (d) => podOf(d).tolerations, [toleration]),
    "tolerations emptied": row({ tolerations: [] }, (d) => podOf(d).tolerations, undefined),
    affinity: row({ affinity: required }, (d) => podOf(d).affinity.nodeAffinity, required.nodeAffinity),
    "affinity with distribution": row(
      {},
      (d) => podOf(d).affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.length,
      1,
    ),
    "distributeByNodes off": row({ distributeByNodes: false }, (d) => podOf(d).affinity, required),
    topologySpreadConstraints: row(
      { topologySpreadConstraints: [{ maxSkew: 2, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" }] },
      (d) => podOf(d).topologySpreadConstraints.map(({ maxSkew, topologyKey }: Anything) => [maxSkew, topologyKey]),
      [[2, "zone"]],
    ),
    priorityClassName: row(
      { priorityClassName: "system-node-critical" },
      (d) => podOf(d).priorityClassName,
      "system-node-critical",
    ),
    runtimeClassName: row({ runtimeClassName: "sandboxed" }, (d) => podOf(d).runtimeClassName, "sandboxed"),
    resources: row(
      { resources: { requests: { cpu: "0.25", memory: "64Mi" }, limits: { memory: "128Mi" } } },
      (d) => containerOf(d).resources,
      { requests: { cpu: "250m", memory: "64Mi" }, limits: { memory: "128Mi" } },
    ),
    securityContext: row({ securityContext: { runAsUser: 1234 } }, (d) => podOf(d).securityContext.runAsUser, 1234),
    containerSecurityContext: row(
      { containerSecurityContext: { readOnlyRootFilesystem: false } },
      (d) => containerOf(d).securityContext.readOnlyRootFilesystem,
      false,
    ),
    serviceAccountName: row({ serviceAccountName: "runner" }, (d) => podOf(d).serviceAccountName, "runner"),
    imagePullSecrets: row({ imagePullSecrets: [{ name: "registry" }] }, (d) => podOf(d).imagePullSecrets, [
      { name: "registry" },
    ]),
    labels: row({ labels: { team: "red" } }, (d) => d.spec.template.metadata.labels.team, "red"),
    "labels removed": row({ labels: { team: null } }, (d) => d.spec.template.metadata.labels.team, undefined),
    annotations: row({ annotations: { note: "x" } }, (d) => d.spec.template.metadata.annotations, { note: "x" }),
    healthPort: row({ healthPort: 9090 }, environmentOf("NETAMINITY_HEALTH_LISTEN"), "[::]:9090"),
    hostNetwork: row({ hostNetwork: true }, (d) => [podOf(d).hostNetwork, podOf(d).dnsPolicy], [
      true,
      "ClusterFirstWithHostNet",
    ]),
    "hostNetwork off": row(
      { hostNetwork: false },
      (d) => [podOf(d).hostNetwork, podOf(d).dnsPolicy, containerOf(d).ports[0].hostPort],
      [undefined, "ClusterFirst", undefined],
    ),
  };
}

const proxyDeployment: [Resource, string] = [resources.deployment, "db-proxy"];
const rendezvous: [Resource, string] = [resources.service, "db-rendezvous"];
const proxyChanges: Record<string, SpecChange> = {
  replicas: { change: { replicas: 3 }, child: proxyDeployment, shows: (d) => d.spec.replicas, as: 3 },
  "secretRef.name": {
    change: { secretRef: { name: "other-key" } },
    child: proxyDeployment,
    shows: (d) => podOf(d).volumes[0].projected.sources[0].secret.name,
    as: "other-key",
  },
  "service.port": {
    change: { service: { port: 8001 } },
    child: [resources.service, "db"],
    shows: (s) => s.spec.ports.map((port: Anything) => port.port),
    as: [8001],
  },
  "service.name": {
    change: { service: { name: "sql" } },
    child: [resources.service, "sql"],
    shows: (s) => s.spec.ports[0].port,
    as: 8001,
  },
  acceptProxyProtocol: {
    change: { acceptProxyProtocol: true },
    child: proxyDeployment,
    shows: environmentOf("NETAMINITY_ACCEPT_PROXY_PROTOCOL"),
    as: "true",
  },
  drainTimeout: {
    change: { drainTimeout: "2m" },
    child: proxyDeployment,
    shows: (d) => [environmentOf("NETAMINITY_DRAIN_TIMEOUT")(d), podOf(d).terminationGracePeriodSeconds > 120],
    as: ["120s", true],
  },
  "proxyService.annotations": {
    change: { proxyService: { annotations: { cloud: "x" } } },
    child: rendezvous,
    shows: (s) => s.metadata.annotations.cloud,
    as: "x",
  },
  "proxyService.annotations removed": {
    change: { proxyService: { annotations: null } },
    child: rendezvous,
    shows: (s) => s.metadata.annotations.cloud,
    as: undefined,
  },
  "proxyService.type and class": {
    change: { proxyService: { type: "LoadBalancer", loadBalancerClass: "example.net/lb" } },
    child: rendezvous,
    shows: (s) => [s.spec.type, s.spec.loadBalancerClass],
    as: ["LoadBalancer", "example.net/lb"],
  },
  "proxyService.loadBalancerSourceRanges": {
    change: { proxyService: { loadBalancerSourceRanges: ["192.0.2.0/24"] } },
    child: rendezvous,
    shows: (s) => s.spec.loadBalancerSourceRanges,
    as: ["192.0.2.0/24"],
  },
  "proxyService.type and nodePort": {
    change: {
      proxyService: { type: "NodePort", nodePort: 31140, loadBalancerClass: null, loadBalancerSourceRanges: null },
    },
    child: rendezvous,
    shows: (s) => [s.spec.type, s.spec.ports[0].nodePort],
    as: ["NodePort", 31140],
  },
  ...podTemplateChanges((podTemplate) => ({ podTemplate }), "db-proxy"),
};

const targetDeployment: [Resource, string] = [resources.deployment, "db-target"];
const targetChanges: Record<string, SpecChange> = {
  "secretRef.name": {
    change: { secretRef: { name: "other-key" } },
    child: targetDeployment,
    shows: (d) => podOf(d).volumes[0].projected.sources[0].secret.name,
    as: "other-key",
  },
  endpoint: {
    change: { endpoint: "[fd00::1]:5432" },
    child: targetDeployment,
    shows: environmentOf("NETAMINITY_ENDPOINT"),
    as: "[fd00::1]:5432",
  },
  proxyEndpoint: {
    change: { proxyEndpoint: "10.0.0.9:31000" },
    child: targetDeployment,
    shows: environmentOf("NETAMINITY_PROXY_ENDPOINT"),
    as: "10.0.0.9:31000",
  },
  sendProxyProtocol: {
    change: { sendProxyProtocol: "v2" },
    child: targetDeployment,
    shows: environmentOf("NETAMINITY_SEND_PROXY_PROTOCOL"),
    as: "v2",
  },
  drainTimeout: {
    change: { drainTimeout: "5s" },
    child: targetDeployment,
    shows: environmentOf("NETAMINITY_DRAIN_TIMEOUT"),
    as: "5s",
  },
  ...podTemplateChanges((podTemplate) => ({ podTemplate }), "db-target"),
};

const pairProxyDeployment: [Resource, string] = [resources.deployment, "web-0-proxy"];
const pairTargetDeployment: [Resource, string] = [resources.deployment, "web-0-target"];
const selectorOf = (d: Anything) => podOf(d).nodeSelector;
const tunnelChanges: Record<string, SpecChange> = {
  "service.port": {
    change: { service: { port: 8001 } },
    child: [resources.service, "web"],
    shows: (s) => s.spec.ports[0].port,
    as: 8001,
  },
  "service.name": {
    change: { service: { name: "www" } },
    child: [resources.service, "www"],
    shows: (s) => s.spec.ports[0].port,
    as: 8001,
  },
  "target.endpoint": {
    change: { target: { endpoint: "sql.demo.svc:5432" } },
    child: pairTargetDeployment,
    shows: environmentOf("NETAMINITY_ENDPOINT"),
    as: "sql.demo.svc:5432",
  },
  "target.sendProxyProtocol": {
    change: { target: { sendProxyProtocol: "v1" } },
    child: pairTargetDeployment,
    shows: environmentOf("NETAMINITY_SEND_PROXY_PROTOCOL"),
    as: "v1",
  },
  "proxy.replicas": {
    change: { proxy: { replicas: 2 } },
    child: pairProxyDeployment,
    shows: (d) => d.spec.replicas,
    as: 2,
  },
  "proxy.acceptProxyProtocol": {
    change: { proxy: { acceptProxyProtocol: true } },
    child: pairProxyDeployment,
    shows: environmentOf("NETAMINITY_ACCEPT_PROXY_PROTOCOL"),
    as: "true",
  },
  drainTimeout: {
    change: { drainTimeout: "1m" },
    child: pairTargetDeployment,
    shows: environmentOf("NETAMINITY_DRAIN_TIMEOUT"),
    as: "60s",
  },
  "podTemplate for both, at the proxy": {
    change: { podTemplate: { nodeSelector: { zone: "shared" } } },
    child: pairProxyDeployment,
    shows: selectorOf,
    as: { zone: "shared" },
  },
  "podTemplate for both, at the target": {
    change: {},
    child: pairTargetDeployment,
    shows: selectorOf,
    as: { zone: "shared" },
  },
  "proxy.podTemplate over it": {
    change: { proxy: { podTemplate: { nodeSelector: { zone: "cloud" } } } },
    child: pairProxyDeployment,
    shows: selectorOf,
    as: { zone: "cloud" },
  },
  "target.podTemplate over it": {
    change: { target: { podTemplate: { nodeSelector: { zone: "private" } } } },
    child: pairTargetDeployment,
    shows: selectorOf,
    as: { zone: "private" },
  },
  "proxy.podTemplate taken off": {
    change: { proxy: { podTemplate: null } },
    child: pairProxyDeployment,
    shows: selectorOf,
    as: { zone: "shared" },
  },
  "proxy.proxyService": {
    change: { proxy: { proxyService: { type: "NodePort", nodePort: 31150 } } },
    child: [resources.service, "web-0-rendezvous"],
    shows: (s) => s.spec.ports[0].nodePort,
    as: 31150,
  },
  "proxy.proxyService, at the target": {
    change: {},
    child: pairTargetDeployment,
    shows: environmentOf("NETAMINITY_PROXY_ENDPOINT"),
    as: "nodes:31150",
  },
  "proxy.proxyService back": {
    change: { proxy: { proxyService: { type: "ClusterIP", nodePort: null } } },
    child: [resources.service, "web-0-rendezvous"],
    shows: (s) => [s.spec.type, s.spec.ports[0].nodePort],
    as: ["ClusterIP", undefined],
  },
  replicas: {
    change: { replicas: 2 },
    child: [resources.service, "web-1-rendezvous"],
    shows: (s) => s.spec.type,
    as: "ClusterIP",
  },
};

/** Makes each change in turn on one object and waits for its effect. */
async function changeInTurn(
  site: Site,
  resource: Resource,
  name: string,
  changes: Record<string, SpecChange>,
): Promise<void> {
  for (const [title, { change, child, shows, as }] of Object.entries(changes)) {
    await site.objects.patch(resource, name, { spec: change });
    const seen = async () => {
      const live = await site.objects.get(...child);
      return live === undefined ? "absent" : shows(live);
    };
    await site
      .until(title, async () => Bun.deepEquals(await seen(), as))
      .catch(async (error: unknown) => {
        expect({ [title]: await seen() }).toEqual({ [title]: as });
        throw error;
      });
  }
}

describe("every field of a spec has its effect when it changes", () => {
  test("of a Proxy", async () => {
    await using site = await startSite("spec", { settings: { proxyHost: "nodes" } });
    await site.objects.create(makeSecret("db-key"));
    await site.objects.create(makeSecret("other-key"));
    await site.objects.create(makeProxy("db"));
    await changeInTurn(site, resources.proxy, "db", proxyChanges);
    expect(await site.objects.names(resources.service)).toEqual(["db-rendezvous", "sql"]);
    expect(conditionOf(await site.objects.get(resources.proxy, "db"))).not.toContain("InvalidSpec");
  }, 150_000);

  test("of a Target", async () => {
    await using site = await startSite("spec");
    await site.objects.create(makeSecret("db-key"));
    await site.objects.create(makeSecret("other-key"));
    await site.objects.create(makeTarget("db"));
    await changeInTurn(site, resources.target, "db", targetChanges);
    expect(conditionOf(await site.objects.get(resources.target, "db"))).not.toContain("InvalidSpec");
  }, 150_000);

  test("of a Tunnel", async () => {
    await using site = await startSite("spec", { settings: { proxyHost: "nodes" } });
    await using _pods = runPods(site.plane, site.objects, () => true);
    await site.objects.create(makeTunnel("web"));
    await changeInTurn(site, resources.tunnel, "web", tunnelChanges);
    expect(await site.objects.names(resources.service)).toEqual(["web-0-rendezvous", "web-1-rendezvous", "www"]);
  }, 150_000);
});
