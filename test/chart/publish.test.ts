import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  V1ClusterRole,
  V1Deployment,
  V1NetworkPolicy,
  V1RoleBinding,
  V1Service,
  V1ServiceAccount,
} from "@kubernetes/client-node";
import { parse } from "yaml";
import { publishRole } from "../../src/config/publish.ts";
import { readSettings } from "../../src/config/read.ts";
import { readLogin } from "../../src/publish/netmaker-login.ts";
import { publishRights } from "../support/publish-rights.ts";
import { chart, namesOf, only, type Rendered, refusal, render } from "./helm.ts";
import { restrictedViolations } from "./restricted.ts";

setDefaultTimeout(60_000);

const netmaker = {
  enabled: true,
  provider: "netmaker",
  existingSecret: "mesh-login",
  netmaker: { url: "https://api.example.com" },
};
const netsody = {
  enabled: true,
  provider: "netsody",
  existingSecret: "mesh-login",
  netsody: { base: { name: "mesh-base" } },
};
const everything = {
  networkPolicy: { enabled: true },
  metrics: { podMonitor: { enabled: true }, rules: { enabled: true } },
};
const name = "netaminity-publish";

const added = async (publish: object) => {
  const without = new Set(namesOf(await render(everything)));
  const objects = await render({ ...everything, publish });
  return objects.filter((object) => !without.has(namesOf([object])[0] ?? ""));
};

/** What the role makes of the environment and arguments of its container. */
function settingsOf(objects: readonly Rendered[]) {
  const [container] = only<V1Deployment>(objects, "Deployment", name).spec?.template.spec?.containers ?? [];
  const [command, ...args] = container?.args ?? [];
  expect(command).toBe("publish");
  const environment = Object.fromEntries((container?.env ?? []).map((each) => [each.name, each.value]));
  const { values, warnings } = readSettings(publishRole, { args, environment });
  expect(warnings).toEqual([]);
  return values;
}

describe("the role publish in the chart", () => {
  test("is nothing at all while it is off, whatever else is set for it", async () => {
    const usual = await render(everything);
    expect(await render({ ...everything, publish: { ...netmaker, enabled: false } })).toEqual(usual);
    expect(usual.filter((object) => /publish|netsody/.test(JSON.stringify(object)))).toEqual([]);
  });

  test("changes nothing of the operator when it is on", async () => {
    const usual = await render(everything);
    for (const publish of [netmaker, netsody]) {
      const objects = new Map((await render({ ...everything, publish })).map((each) => [namesOf([each])[0], each]));
      expect(usual.map((each) => objects.get(namesOf([each])[0]))).toEqual(usual);
    }
  });

  test("has these objects with Netmaker", async () => {
    expect(namesOf(await added(netmaker))).toEqual([
      `ClusterRole /netaminity-system-${name}`,
      `ClusterRoleBinding /netaminity-system-${name}`,
      `Deployment netaminity-system/${name}`,
      `NetworkPolicy netaminity-system/${name}`,
      `PodDisruptionBudget netaminity-system/${name}`,
      `PodMonitor netaminity-system/${name}`,
      `PrometheusRule netaminity-system/${name}`,
      `Role default/netaminity-system-${name}`,
      `Role netaminity-system/${name}`,
      `RoleBinding default/netaminity-system-${name}`,
      `RoleBinding netaminity-system/${name}`,
      `ServiceAccount netaminity-system/${name}`,
    ]);
  });

  test("has the published object and a Service beside them with Netsody", async () => {
    const objects = await added(netsody);
    expect(namesOf(objects).filter((each) => each.endsWith("-netsody"))).toEqual([
      "Secret netaminity-system/netaminity-netsody",
      "Service netaminity-system/netaminity-netsody",
    ]);
    expect(only<{ data?: unknown }>(objects, "Secret", "netaminity-netsody").data).toBeUndefined();
    const service = { type: "NodePort", port: 8000, nodePort: 30080 };
    const other = await added({
      ...netsody,
      netsody: { base: { kind: "Secret", name: "b", key: "k" }, outputKind: "ConfigMap", service },
    });
    expect(only<V1Service>(other, "Service").spec).toMatchObject({
      type: "NodePort",
      ports: [{ port: 8000, nodePort: 30080, targetPort: "netsody" }],
    });
    expect(only(other, "ConfigMap", "netaminity-netsody").kind).toBe("ConfigMap");
    expect(settingsOf(other).netsodyOutput).toEqual({ kind: "configmap", name: "netaminity-netsody" });
  });

  test.each([
    ["netmaker", netmaker, publishRights({ lease: name, readsClusterName: true })],
    [
      "netmaker with a cluster name",
      { ...netmaker, clusterName: "east" },
      publishRights({ lease: name, readsClusterName: false }),
    ],
    ["netsody", netsody, publishRights({ lease: name, output: { plural: "secrets", name: "netaminity-netsody" } })],
  ])("may do exactly what it needs with %s", async (_what, publish, rights) => {
    const objects = await added(publish);
    const roles = objects.filter(({ kind }) => kind === "Role" || kind === "ClusterRole");
    const rulesIn = (namespace: string | undefined) =>
      (roles.find(({ metadata }) => metadata.namespace === namespace) as V1ClusterRole | undefined)?.rules;
    expect(rulesIn(undefined)).toEqual(rights.cluster);
    expect(rulesIn("default")).toEqual(rights.nodeEvents);
    expect(rulesIn("netaminity-system")).toEqual(rights.own);
    const subject = { kind: "ServiceAccount", name, namespace: "netaminity-system" };
    const bindings = objects.filter(({ kind }) => kind.endsWith("Binding")) as unknown as V1RoleBinding[];
    expect(bindings.map(({ subjects }) => subjects)).toEqual([[subject], [subject], [subject]]);
    expect(only<V1ServiceAccount>(objects, "ServiceAccount", name).automountServiceAccountToken).toBe(false);
  });

  test("leaves its rights to the administrator when the others are", async () => {
    const objects = await render({ rbac: { create: false }, publish: netmaker });
    expect(objects.filter(({ kind, metadata }) => /Role/.test(kind) && metadata.name.includes("publish"))).toEqual([]);
  });

  test("reaches the mesh's API and the API server, and with Netsody is reached by agents", async () => {
    const policy = async (publish: object) => only<V1NetworkPolicy>(await added(publish), "NetworkPolicy", name).spec;
    const ports = (rules: { ports?: { port?: unknown }[] }[] | undefined) =>
      (rules ?? []).map((rule) => (rule.ports ?? []).map(({ port }) => port));
    const ofNetmaker = await policy({ ...netmaker, meshPorts: [8443] });
    expect([ports(ofNetmaker?.ingress), ports(ofNetmaker?.egress)]).toEqual([
      [["health"]],
      [[53, 53], [443, 6443], [8443]],
    ]);
    const ofNetsody = await policy(netsody);
    expect([ports(ofNetsody?.ingress), ports(ofNetsody?.egress)]).toEqual([
      [["health"], ["netsody"]],
      [
        [53, 53],
        [443, 6443],
      ],
    ]);
  });

  test("meets Pod Security restricted, and its pods are found by its own labels alone", async () => {
    for (const publish of [netmaker, netsody]) {
      const objects = await render({ publish });
      const [operator, own] = ["netaminity", name].map((each) => only<V1Deployment>(objects, "Deployment", each).spec);
      expect(own?.template.spec && restrictedViolations(own.template.spec)).toEqual([]);
      expect(own?.selector.matchLabels?.["app.kubernetes.io/component"]).toBe("publish");
      expect(own?.template.metadata?.labels).toMatchObject(own?.selector.matchLabels ?? {});
      expect(operator?.selector.matchLabels).not.toEqual(own?.selector.matchLabels);
    }
  });
});

describe("values of publish", () => {
  test("of Netmaker reach the role", async () => {
    const publish = { ...netmaker, clusterName: "east", interval: "30s", dryRun: true, adoptKaputNot: true };
    const objects = await render({ publish: { ...publish, netmaker: { url: "https://n", caSecret: "ca" } } });
    expect(settingsOf(objects)).toMatchObject({
      provider: "netmaker",
      clusterName: "east",
      interval: 30_000,
      dryRun: true,
      adoptKaputNot: true,
      netmakerApiUrl: "https://n",
      netmakerCredentials: "/var/run/secrets/mesh",
      netmakerCaFile: "/var/run/secrets/mesh-ca/ca.crt",
      leaseName: name,
    });
  });

  test("of Netsody reach the role", async () => {
    const more = { table: "route", groups: ["a", "b"], network: "k8s", username: "agent" };
    const publish = { ...netsody, netsody: { ...netsody.netsody, ...more } };
    expect(settingsOf(await render({ publish }))).toMatchObject({
      provider: "netsody",
      netsodyBase: "/etc/netaminity/network.toml",
      netsodyOutput: { kind: "secret", name: "netaminity-netsody" },
      netsodyTable: "route",
      netsodyGroups: ["a", "b"],
      netsodyNetwork: "k8s",
      netsodyUsername: "agent",
      netsodyPasswordFile: "/var/run/secrets/mesh/password",
    });
  });

  test("of the pod reach the pod", async () => {
    const publish = {
      ...netmaker,
      replicas: 3,
      priorityClassName: "system-cluster-critical",
      tolerations: [{ operator: "Exists" }],
      nodeSelector: { a: "b" },
      podLabels: { team: "red" },
      podAnnotations: { x: "y" },
      extraArgs: ["--log-level=debug"],
    };
    const objects = await render({ publish });
    const { spec } = only<V1Deployment>(objects, "Deployment", name);
    expect(spec).toMatchObject({
      replicas: 3,
      template: {
        metadata: { labels: { team: "red" }, annotations: { x: "y" } },
        spec: {
          priorityClassName: "system-cluster-critical",
          tolerations: [{ operator: "Exists" }],
          nodeSelector: { a: "b" },
        },
      },
    });
    expect(settingsOf(objects).logLevel).toBe("debug");
  });

  test.each([
    [{ enabled: true }, "publish.provider is missing"],
    [{ ...netmaker, existingSecret: "" }, "publish.existingSecret is missing"],
    [{ ...netmaker, netmaker: { url: "" } }, "publish.netmaker.url is missing"],
    [{ ...netsody, netsody: {} }, "publish.netsody.base.name is missing"],
    [{ ...netmaker, clusterName: "East" }, "clusterName"],
    [{ ...netmaker, provider: "other" }, "provider"],
  ])("that cannot work are refused by name: %j", async (publish, sentence) => {
    expect(await refusal({ publish })).toContain(sentence);
  });

  test("name a Secret of kaput-not as well as one of ours", async () => {
    const folder = await mkdtemp(join(tmpdir(), "netaminity-login-"));
    try {
      await Bun.write(join(folder, "NETMAKER_USERNAME"), "kaput-not");
      await Bun.write(join(folder, "NETMAKER_PASSWORD"), "secret\n");
      expect(readLogin({ folder })).toEqual({ username: "kaput-not", password: "secret" });
      await Bun.write(join(folder, "password"), "newer");
      expect(readLogin({ folder })).toEqual({ username: "kaput-not", password: "newer" });
      await Bun.write(join(folder, "token"), "a token");
      expect(readLogin({ folder })).toEqual({ token: "a token" });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

test("the alerts of publish are those of its file, with the labels that were asked for", async () => {
  interface Groups {
    groups: { name: string; rules: { labels: Record<string, string> }[] }[];
  }
  const file: Groups = parse(await Bun.file(join(chart, "files/publish-alerts.yaml")).text());
  const objects = await render({
    publish: netmaker,
    metrics: { rules: { enabled: true, alertLabels: { team: "network" } } },
  });
  expect(only<{ spec: Groups }>(objects, "PrometheusRule", name).spec.groups).toEqual(
    file.groups.map((group) => ({
      ...group,
      rules: group.rules.map((rule) => ({ ...rule, labels: { ...rule.labels, team: "network" } })),
    })),
  );
});
