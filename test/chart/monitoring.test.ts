import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { parse } from "yaml";
import { createMetrics } from "../../src/metrics.ts";
import { createNodeMetrics } from "../../src/node/metrics.ts";
import { createOperatorMetrics } from "../../src/operator/metrics.ts";
import { isProblem, type Reason, reasons } from "../../src/plan/reasons.ts";
import { createPublishMetrics } from "../../src/publish/metrics.ts";
import { chart, only, refusal, render, repository } from "./helm.ts";

setDefaultTimeout(60_000);

const enabled = (name: string, more: object = {}) => ({ metrics: { [name]: { enabled: true, ...more } } });

/** Names of series that the kinds of process expose. */
async function knownSeries(): Promise<Set<string>> {
  const all = [createOperatorMetrics(), createMetrics(), createNodeMetrics(), createPublishMetrics()];
  const bodies = await Promise.all(all.map((metrics) => metrics.expose()));
  const names = new Set(
    bodies.flatMap(({ body }) => [...body.matchAll(/^# TYPE (\w+)/gm)].map(([, name = ""]) => name)),
  );
  // Gauges are added by a running role, in its files.
  for await (const file of new Bun.Glob("**/*.ts").scan({ cwd: join(repository, "src/agent") })) {
    const text = await Bun.file(join(repository, "src/agent", file)).text();
    for (const [, name = ""] of text.matchAll(/\bgauge\(\s*"(\w+)"/g)) names.add(`netaminity_${name}`);
  }
  return names;
}

async function unknownSeries(text: string): Promise<string[]> {
  const known = await knownSeries();
  const used = new Set([...text.matchAll(/\bnetaminity_[a-z_]+\b/g)].map(([name]) => name));
  expect(used.size).toBeGreaterThan(4);
  return [...used].filter((name) => !known.has(name) && !known.has(name.replace(/_(bucket|sum|count)$/, "")));
}

describe("the metrics Service and its ServiceMonitor", () => {
  test("lead to the operator's health port", async () => {
    const objects = await render(enabled("serviceMonitor", { interval: "30s", labels: { release: "prometheus" } }));
    const service = only<{ spec: { ports: unknown; selector: Record<string, string> } }>(objects, "Service");
    expect(service.spec.ports).toEqual([{ name: "metrics", port: 8080, targetPort: "health", protocol: "TCP" }]);
    const monitor = only<{
      metadata: { labels: object };
      spec: { selector: { matchLabels: object }; endpoints: unknown };
    }>(objects, "ServiceMonitor");
    expect(monitor.metadata.labels).toMatchObject({ release: "prometheus" });
    expect(monitor.spec.endpoints).toEqual([{ port: "metrics", path: "/metrics", interval: "30s", honorLabels: true }]);
    expect(only(objects, "Service").metadata.labels).toMatchObject(monitor.spec.selector.matchLabels);
  });

  test("are refused without each other", async () => {
    expect(await refusal({ metrics: { service: { enabled: false }, serviceMonitor: { enabled: true } } })).toContain(
      "metrics.serviceMonitor.enabled needs metrics.service.enabled: true",
    );
  });
});

describe("the PodMonitor", () => {
  test("finds proxy and target pods of the watched namespaces and labels their series", async () => {
    const custom = { targetLabel: "cluster", replacement: "blue" };
    const values = { ...enabled("podMonitor", { relabelings: [custom] }), config: { watchNamespaces: ["a"] } };
    const { spec } = only<{ spec: Record<string, unknown> }>(await render(values), "PodMonitor");
    const from = (label: string, targetLabel: string) => ({
      sourceLabels: [`__meta_kubernetes_pod_label_${label}`],
      targetLabel,
    });
    expect(spec).toEqual({
      namespaceSelector: { matchNames: ["a"] },
      selector: {
        matchLabels: { "app.kubernetes.io/managed-by": "netaminity" },
        matchExpressions: [{ key: "app.kubernetes.io/component", operator: "In", values: ["proxy", "target"] }],
      },
      podMetricsEndpoints: [
        {
          port: "health",
          path: "/metrics",
          relabelings: [
            from("app_kubernetes_io_component", "role"),
            ...["tunnel", "proxy", "target"].map((name) => from(`netaminity_exeteres_net_${name}`, name)),
            custom,
          ],
        },
      ],
    });
    const everywhere = only<{ spec: { namespaceSelector: unknown } }>(
      await render(enabled("podMonitor")),
      "PodMonitor",
    );
    expect(everywhere.spec.namespaceSelector).toEqual({ any: true });
  });
});

describe("the alerts", () => {
  interface Alert {
    alert: string;
    labels: Record<string, string>;
    annotations: { summary: string; description: string };
  }
  interface Groups {
    groups: { name: string; rules: Alert[] }[];
  }

  test("are those of the file, with the labels that were asked for", async () => {
    const file: Groups = parse(await Bun.file(join(chart, "files/alerts.yaml")).text());
    const values = enabled("rules", { alertLabels: { team: "network", severity: "page" } });
    const objects = await render({ ...values, node: { enabled: true } });
    const { spec } = only<{ spec: Groups }>(objects, "PrometheusRule");
    expect(spec.groups).toEqual(
      file.groups.map(({ name, rules }) => ({
        name,
        rules: rules.map((rule) => ({ ...rule, labels: { team: "network", severity: "page" } })),
      })),
    );
  });

  test.each(["alerts.yaml", "publish-alerts.yaml"])("of %s ask only for series that exist", async (name) => {
    expect(await unknownSeries(await Bun.file(join(chart, "files", name)).text())).toEqual([]);
  });
});

test("one alert is for every reason that somebody has to act on, by the pair and not once more by its Tunnel", async () => {
  const alerts = await Bun.file(join(chart, "files/alerts.yaml")).text();
  const named = /reason=~"([\w|]+)"/.exec(alerts)?.[1]?.split("|") ?? [];
  const problems = (Object.keys(reasons) as Reason[]).filter(
    (reason) => isProblem(reason) && reason !== "PairsNotReady",
  );
  expect(named.toSorted()).toEqual(problems.toSorted());
});

describe("the Grafana dashboard", () => {
  interface Panel {
    id: number;
    title: string;
    type: string;
    gridPos: { x: number; y: number; w: number; h: number };
    targets?: { expr: string }[];
  }
  const read = async (): Promise<{ uid: string; panels: Panel[] }> =>
    await Bun.file(join(chart, "files/dashboard.json")).json();

  test("is in the ConfigMap as it is in the file", async () => {
    const objects = await render(enabled("dashboard", { annotations: { folder: "Networks" } }));
    const map = only<{ metadata: { labels: object; annotations: object }; data: Record<string, string> }>(
      objects,
      "ConfigMap",
    );
    expect(JSON.parse(map.data["netaminity.json"] ?? "")).toEqual(await read());
    expect(map.metadata.labels).toMatchObject({ grafana_dashboard: "1" });
    expect(map.metadata.annotations).toEqual({ folder: "Networks" });
  });

  test("asks only for series that exist", async () => {
    expect(await unknownSeries(await Bun.file(join(chart, "files/dashboard.json")).text())).toEqual([]);
  });

  test("has panels with ids of their own that fit the grid and do not overlap", async () => {
    const { panels } = await read();
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.filter(({ type, targets = [] }) => type !== "row" && targets.length === 0)).toEqual([]);
  });
});
