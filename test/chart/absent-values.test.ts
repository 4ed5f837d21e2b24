/** What users leave empty, write as null, set twice, or bring along from an older release. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import schema from "../../chart/values.schema.json" with { type: "json" };
import { chart, only, type Rendered, refusal, render, renderText } from "./helm.ts";

setDefaultTimeout(60_000);

interface Schema {
  properties?: Record<string, Schema>;
  default?: unknown;
}

/** Every value and every block by its path. */
function pathsOf(of: Schema, parent: readonly string[] = []): { path: readonly string[]; of: Schema }[] {
  return Object.entries(of.properties ?? {}).flatMap(([name, each]) => {
    const path = [...parent, name];
    return [{ path, of: each }, ...pathsOf(each, path)];
  });
}

const isFilledMap = ({ default: value }: Schema): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;

const setTo = (path: readonly string[], value: unknown): object =>
  path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;

// Definitions are large, and their values are asked for apart.
const small = { crds: { install: false } };
const paths = pathsOf(schema as Schema).filter(({ path }) => path[0] !== "crds");

describe("values that are absent", () => {
  test("are complete in every template", async () => {
    const templates = (await readdir(join(chart, "templates"))).filter((name) => !name.endsWith(".tpl"));
    for (const name of templates) {
      const text = await Bun.file(join(chart, "templates", name)).text();
      expect([name, text.split("\n")[0]]).toEqual([name, '{{- include "netaminity.complete" . -}}']);
    }
  });

  // As Helm does with `--reuse-values`: what the older release did not know is not there at all, which null means too.
  test("mean their defaults: every single one", async () => {
    const usual = await renderText(small);
    const kept = paths.filter(({ of }) => of.properties === undefined && !isFilledMap(of));
    expect(kept.length).toBeGreaterThan(50);
    const merged = {};
    for (const { path } of kept) mergeInto(merged, setTo(path, null));
    expect(await renderText({ ...merged, ...small })).toBe(usual);
  });

  test("mean their defaults: a block that is not there", async () => {
    const usual = await renderText(small);
    const blocks = paths.filter(({ of }) => of.properties !== undefined);
    // Blocks of one depth at a time: none of them lies within another.
    for (const depth of new Set(blocks.map(({ path }) => path.length))) {
      const merged = {};
      for (const { path } of blocks) if (path.length === depth) mergeInto(merged, setTo(path, null));
      expect(await renderText({ ...merged, ...small })).toBe(usual);
    }
    const definitions = await renderText({ crds: null });
    expect(definitions).toBe(await renderText());
  });

  test("mean their defaults: a block that is written empty", async () => {
    const usual = await renderText(small);
    const blocks = paths.filter(({ of }) => of.properties !== undefined);
    const merged = {};
    for (const { path } of blocks) mergeInto(merged, setTo(path, {}));
    expect(await renderText({ ...merged, ...small })).toBe(usual);
  });

  test("of a map that users fill are taken away by null, as Helm does it", async () => {
    const deployment = only<Deployment>(await render({ operator: { resources: null } }), "Deployment");
    expect(deployment.spec.template.spec.containers[0]?.resources).toBeUndefined();
  });

  test("that Helm hands on as null are refused by their names", async () => {
    expect(await refusal({ operator: { podLabels: { team: null } } })).toContain("/operator/podLabels/team");
    expect(await refusal({ operator: { nodeSelector: { disk: null } } })).toContain("/operator/nodeSelector/disk");
    expect(await refusal({ operator: { extraEnv: [{ name: "A", value: null }] } })).toContain(
      "/operator/extraEnv/0/value",
    );
    expect(await refusal({ operator: { tolerations: [null] } })).toContain("/operator/tolerations/0");
    expect(await refusal({ operator: { extraArgs: [null] } })).toContain("/operator/extraArgs/0");
    expect(await refusal({ networkPolicy: { metricsFrom: [null] } })).toContain("/networkPolicy/metricsFrom/0");
    expect(await refusal({ agent: { imagePullSecrets: [null] } })).toContain("/agent/imagePullSecrets/0");
  });
});

interface Deployment extends Rendered {
  spec: {
    selector: { matchLabels: Record<string, string> };
    template: {
      metadata: { labels: Record<string, string>; annotations: Record<string, string> };
      spec: { containers: { env: { name: string; value?: string }[]; resources?: object }[] };
    };
  };
}

const fixed = ["app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component"];

describe("what users set beside what the chart sets", () => {
  test("an environment variable of theirs wins, and stands there once", async () => {
    const extraEnv = [
      { name: "NETAMINITY_LOG_LEVEL", value: "debug" },
      { name: "POD_NAMESPACE", value: "elsewhere" },
      { name: "HTTPS_PROXY", value: "http://proxy:3128" },
    ];
    const [container] = only<Deployment>(await render({ operator: { extraEnv } }), "Deployment").spec.template.spec
      .containers;
    const names = container?.env.map(({ name }) => name) ?? [];
    expect(names).toEqual([...new Set(names)]);
    expect(container?.env).toEqual(expect.arrayContaining(extraEnv));
    expect(names).toContain("NETAMINITY_WORKERS");
  });

  test("a variable of theirs that stands there twice is refused", async () => {
    const extraEnv = [
      { name: "A", value: "1" },
      { name: "A", value: "2" },
    ];
    expect(await refusal({ operator: { extraEnv } })).toContain("operator.extraEnv: A stands there twice");
  });

  test("a label or annotation of theirs wins, the nearer one first, and stands there once", async () => {
    const values = {
      commonLabels: { "app.kubernetes.io/version": "mine", team: "a" },
      operator: { podLabels: { team: "b" }, podAnnotations: { "kubectl.kubernetes.io/default-container": "other" } },
      metrics: { podMonitor: { enabled: true, labels: { team: "c", "helm.sh/chart": "x" } } },
    };
    // The parser of YAML refuses a key that stands there twice.
    const objects = await render(values);
    const deployment = only<Deployment>(objects, "Deployment");
    expect(deployment.metadata.labels).toMatchObject({ team: "a", "app.kubernetes.io/version": "mine" });
    expect(deployment.spec.template.metadata.labels).toMatchObject({ team: "b", "app.kubernetes.io/version": "mine" });
    expect(deployment.spec.template.metadata.annotations).toEqual({
      "kubectl.kubernetes.io/default-container": "other",
    });
    expect(only(objects, "PodMonitor").metadata.labels).toMatchObject({ team: "c", "helm.sh/chart": "x" });
  });

  for (const [name, of] of Object.entries({
    commonLabels: (labels: object) => ({ commonLabels: labels }),
    "operator.podLabels": (labels: object) => ({ operator: { podLabels: labels } }),
    "metrics.serviceMonitor.labels": (labels: object) => ({ metrics: { serviceMonitor: { enabled: true, labels } } }),
    "metrics.podMonitor.labels": (labels: object) => ({ metrics: { podMonitor: { enabled: true, labels } } }),
    "metrics.rules.labels": (labels: object) => ({ metrics: { rules: { enabled: true, labels } } }),
    "metrics.dashboard.labels": (labels: object) => ({ metrics: { dashboard: { enabled: true, labels } } }),
  })) {
    test(`${name} cannot replace a label by which objects are found`, async () => {
      for (const key of [...fixed, "app.kubernetes.io/managed-by"]) {
        expect(await refusal(of({ [key]: "mine" }))).toContain(`${name}: the label ${key} cannot be replaced`);
      }
    });
  }
});

function mergeInto(into: Record<string, unknown>, from: object): void {
  for (const [name, value] of Object.entries(from)) {
    const present = into[name];
    if (present !== null && typeof present === "object" && value !== null && typeof value === "object") {
      mergeInto(present as Record<string, unknown>, value);
    } else into[name] = value;
  }
}
