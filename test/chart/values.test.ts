import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { chartReference, chartValues } from "../../scripts/chart-reference.ts";
import { chart, helm, refusal, render, repository } from "./helm.ts";

setDefaultTimeout(60_000);

describe("the chart's values", () => {
  test("pass helm lint without a warning", async () => {
    expect(await helm(["lint", "--strict", chart])).toContain("1 chart(s) linted, 0 chart(s) failed");
  });

  test("in values.yaml and in the reference are what the schema says", async () => {
    expect(await Bun.file(join(chart, "values.yaml")).text()).toBe(chartValues());
    expect(await Bun.file(join(repository, "docs/reference/chart.md")).text()).toBe(chartReference());
  });

  test("of a parent chart are accepted", async () => {
    expect((await render({ global: { region: "x" }, enabled: true })).length).toBeGreaterThan(5);
  });
});

const refused: [values: object, words: string[]][] = [
  [{ replicas: 2 }, ["replicas"]],
  [{ operator: { replica: 2 } }, ["operator", "replica"]],
  [{ operator: { replicas: -1 } }, ["/operator/replicas"]],
  [{ operator: { replicas: "2" } }, ["/operator/replicas", "integer"]],
  [{ operator: { image: { tag: 1.5 } } }, ["/operator/image/tag", "string"]],
  [{ operator: { image: { tag: "has space" } } }, ["/operator/image/tag"]],
  [{ operator: { image: { repository: "" } } }, ["/operator/image/repository"]],
  [{ operator: { image: { repository: "ghcr.io/a/b:tag" } } }, ["/operator/image/repository"]],
  [{ operator: { image: { pullPolicy: "always" } } }, ["/operator/image/pullPolicy", "Always"]],
  [{ operator: { resources: { limit: {} } } }, ["/operator/resources", "limit"]],
  [{ operator: { resources: { limits: { memory: "lots" } } } }, ["/operator/resources/limits/memory"]],
  [{ operator: { tolerations: [{ effect: "Never" }] } }, ["/operator/tolerations/0/effect"]],
  [{ operator: { affinity: { nodeAfinity: {} } } }, ["/operator/affinity", "nodeAfinity"]],
  [{ operator: { topologySpreadConstraints: [{ maxSkew: 1 }] } }, ["topologyKey"]],
  [{ operator: { extraEnv: [{ value: "a" }] } }, ["/operator/extraEnv/0", "name"]],
  [{ operator: { podLabels: { a: 1 } } }, ["/operator/podLabels/a", "string"]],
  [{ agent: { image: { digest: "sha256:abc" } } }, ["/agent/image/digest"]],
  [{ agent: { drainTimeout: "30" } }, ["/agent/drainTimeout"]],
  [{ config: { proxyHost: "https://example.org" } }, ["/config/proxyHost"]],
  [{ config: { proxyHosts: "a" } }, ["/config", "proxyHosts"]],
  [{ config: { logLevel: "verbose" } }, ["/config/logLevel", "debug"]],
  [{ config: { watchNamespaces: ["Team_A"] } }, ["/config/watchNamespaces/0"]],
  [{ config: { watchNamespaces: ["team-a", "team-a"] } }, ["/config/watchNamespaces"]],
  [{ config: { workers: 0 } }, ["/config/workers"]],
  [{ config: { podTemplate: { hostNetwork: true } } }, ["/config/podTemplate", "hostNetwork"]],
  [{ config: { podTemplate: { tolerations: [{ effect: "Never" }] } } }, ["/config/podTemplate/tolerations/0/effect"]],
  [{ config: { podTemplate: { labels: { team: 7 } } } }, ["/config/podTemplate/labels/team"]],
  [{ config: { networkPolicy: { from: [{}] } } }, ["/config/networkPolicy/from/0"]],
  [{ config: { networkPolicy: { from: [{ ipBlock: {} }] } } }, ["/config/networkPolicy/from/0/ipBlock", "cidr"]],
  [{ podDisruptionBudget: { maxUnavailable: "some" } }, ["/podDisruptionBudget/maxUnavailable"]],
  [{ networkPolicy: { apiServerPorts: [0] } }, ["/networkPolicy/apiServerPorts/0"]],
  [{ metrics: { podMonitor: { interval: "often" } } }, ["/metrics/podMonitor/interval"]],
  [{ crds: { install: "maybe" } }, ["/crds/install", "boolean"]],
];

describe("the notes after an install", () => {
  // `helm template` leaves notes out, and the dry run of an install needs no cluster when told so.
  const notes = async (...set: string[]) => {
    const dryRun = ["install", "blue", chart, "--namespace", "tunnels", "--dry-run=client", ...set];
    return (await helm(dryRun)).split("\nNOTES:\n")[1] ?? "";
  };

  test("tell how to wait, how to make a first tunnel, and what NodePort needs", async () => {
    const text = await notes();
    expect(text).toContain("kubectl --namespace tunnels rollout status deployment/blue-netaminity");
    expect(text).toContain("kind: Tunnel");
    expect(text).toContain("netaminity doctor tunnel/private-api");
    expect(text.replaceAll("\n", " ")).toContain(
      'crosses a link that you do not own, add "encryption: required" to the spec',
    );
    expect(text).toContain("--set config.proxyHost=HOST");
    expect(text).toContain("in all namespaces");
  });

  test("leave out what is settled", async () => {
    const text = await notes("--set", "config.proxyHost=203.0.113.1,config.watchNamespaces={a,b},crds.keep=false");
    expect(text).not.toContain("config.proxyHost");
    expect(text).not.toContain("crds.keep");
    expect(text).toContain("in namespaces a, b.");
  });
});

describe("values that helm refuses, saying which", () => {
  for (const [values, words] of refused) {
    test(JSON.stringify(values), async () => {
      const said = await refusal(values);
      for (const word of words) expect(said).toContain(word);
    });
  }
});
