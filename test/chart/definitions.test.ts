import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { V1CustomResourceDefinition, V1PodDisruptionBudget } from "@kubernetes/client-node";
import { parse, parseAllDocuments } from "yaml";
import { only, type Rendered, render, renderAll, renderText, repository } from "./helm.ts";

setDefaultTimeout(60_000);

const isDefinition = ({ kind }: Rendered) => kind === "CustomResourceDefinition";
const keep = "helm.sh/resource-policy";

describe("custom resource definitions", () => {
  test("are the generated ones, kept on uninstall", async () => {
    const rendered = (await renderAll({ commonLabels: { team: "network" } })).filter(isDefinition);
    expect(rendered.map(({ metadata }) => metadata.name).sort()).toEqual(
      ["proxies", "targets", "tunnels"].map((plural) => `${plural}.netaminity.exeteres.net`),
    );
    for (const object of rendered as unknown as V1CustomResourceDefinition[]) {
      const file = join(repository, "crd", `${object.spec.names.plural}.yaml`);
      const generated: V1CustomResourceDefinition = parse(await Bun.file(file).text());
      expect(object.spec).toEqual(generated.spec);
      expect(object.metadata?.annotations).toEqual({ ...generated.metadata?.annotations, [keep]: "keep" });
      expect(object.metadata?.labels).toMatchObject({ ...generated.metadata?.labels, team: "network" });
    }
  });

  test("can leave with the chart, or be left out", async () => {
    const leaving = (await renderAll({ crds: { keep: false } })).filter(isDefinition);
    expect(leaving.map(({ metadata }) => metadata.annotations?.[keep])).toEqual([undefined, undefined, undefined]);
    expect((await renderAll({ crds: { install: false } })).filter(isDefinition)).toEqual([]);
  });
});

describe("the PodDisruptionBudget", () => {
  test("is made for more than one replica, and never keeps a node with a broken operator from being drained", async () => {
    for (const none of [{ operator: { replicas: 1 } }, { podDisruptionBudget: { enabled: false } }]) {
      expect((await render(none)).filter(({ kind }) => kind === "PodDisruptionBudget")).toEqual([]);
    }
    const objects = await render({ podDisruptionBudget: { maxUnavailable: "50%" } });
    const { spec } = only<V1PodDisruptionBudget>(objects, "PodDisruptionBudget");
    expect([spec?.maxUnavailable, spec?.unhealthyPodEvictionPolicy]).toEqual(["50%", "AlwaysAllow"]);
  });
});

describe("every object", () => {
  test("keeps names that YAML 1.1 takes for booleans and numbers as text, as Helm 3 reads them", async () => {
    const values = {
      commonLabels: { answer: "no" },
      config: { watchNamespaces: ["on", "12"], proxyHost: "1.5" },
      agent: { imagePullSecrets: [{ name: "123" }] },
      serviceAccount: { name: "off" },
      operator: { image: { repository: "y", tag: "1.0" }, priorityClassName: "1e3", podAnnotations: { on: "off" } },
      crds: { install: false },
      metrics: { dashboard: { enabled: true }, podMonitor: { enabled: true } },
    };
    const text = await renderText(values, { release: "n", namespace: "123" });
    const seen = (version: "1.1" | "1.2") => parseAllDocuments(text, { version }).map((document) => document.toJS());
    expect(seen("1.1")).toEqual(seen("1.2"));
    const places = seen("1.1").flatMap((object) => [object.metadata.name, object.metadata.namespace ?? ""]);
    expect(places.filter((name) => typeof name !== "string")).toEqual([]);
  });

  test("says which release and version it belongs to", async () => {
    const every = {
      podDisruptionBudget: { enabled: true },
      networkPolicy: { enabled: true },
      metrics: {
        serviceMonitor: { enabled: true },
        podMonitor: { enabled: true },
        rules: { enabled: true },
        dashboard: { enabled: true },
      },
    };
    const objects = await render(every, { release: "blue" });
    expect(objects.length).toBeGreaterThanOrEqual(15);
    for (const { kind, metadata } of objects) {
      expect([
        kind,
        metadata.labels["app.kubernetes.io/instance"],
        metadata.labels["app.kubernetes.io/managed-by"],
      ]).toEqual([kind, "blue", "Helm"]);
    }
  });

  test("is rendered the same on every run", async () => {
    expect(await renderText()).toBe(await renderText());
  });
});
