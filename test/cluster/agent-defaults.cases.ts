/** What the operator's settings say for all agents, as a real API server takes it. */
import { expect, test } from "bun:test";
import { parse } from "yaml";
import { readPodTemplate } from "../../src/commands/agent-defaults.ts";
import { resources } from "../../src/operator/resources.ts";
import { runPods } from "./kubelet.ts";
import { type Anything, conditionOf, makeProxy, makeSecret, makeTarget } from "./objects.ts";
import { startSite } from "./site.ts";
import { podOf } from "./spec-template.ts";

test("a podTemplate for all agents reaches the pods of every kind, below that of the object, and a change of it does too", async () => {
  const fixture = await Bun.file(new URL("../fixtures/pod-template.yaml", import.meta.url)).text();
  const {
    hostNetwork: _network,
    healthPort: _port,
    distributeByNodes: _distribute,
    ...rest
  } = parse(fixture).podTemplate;
  const given = { ...rest, labels: { team: "red" } };
  await using site = await startSite("defaults", { settings: { maxRollouts: "100%" } });
  await using _pods = runPods(site.plane, site.objects, () => true);
  const { objects } = site;
  const restartWith = (podTemplate: object) =>
    site.restart({
      settings: {
        ...site.settings,
        agent: { ...site.settings.agent, podTemplate: readPodTemplate({ ...podTemplate }) },
      },
    });
  await restartWith(given);
  await objects.create(makeSecret("db-key"));
  await objects.create(makeProxy("db"));
  await objects.create(makeTarget("edge", { secretRef: { name: "db-key" } }));
  await objects.create(
    makeTarget("own", { secretRef: { name: "db-key" }, podTemplate: { nodeSelector: { zone: "own" } } }),
  );
  const templates = (shows: (deployment: Anything) => unknown, as: unknown[]) =>
    site.until(`templates show ${JSON.stringify(as)}`, async () => {
      const live = await objects.list(resources.deployment);
      const found = live.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)).map(shows);
      return Bun.deepEquals(found, as);
    });
  const selector = (deployment: Anything) => podOf(deployment).nodeSelector;
  await templates(selector, [given.nodeSelector, given.nodeSelector, { zone: "own" }]);
  await templates((deployment) => deployment.spec.template.metadata.labels.team, ["red", "red", "red"]);
  expect(conditionOf(await objects.get(resources.target, "own"))).not.toContain("InvalidSpec");

  await restartWith({ nodeSelector: { zone: "other" } });
  await templates(selector, [{ zone: "other" }, { zone: "other" }, { zone: "own" }]);
}, 90_000);
