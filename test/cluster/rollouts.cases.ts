/** Changes of pods that come from the operator's settings pass a few at a time; what waits, and what does not. */
import { describe, expect, test } from "bun:test";
import { resources } from "../../src/operator/resources.ts";
import { podsOf, runPods } from "./kubelet.ts";
import { conditionOf, type Live, makeSecret, makeTarget } from "./objects.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

const names = ["a", "b", "c", "d"];
const next = "netaminity:next";
const settingsWith = ({ settings }: Site, image: string) => ({
  settings: { ...settings, maxRollouts: "1", agent: { ...settings.agent, image } },
});

const imageOf = async ({ objects }: Site, name: string): Promise<string> =>
  (await objects.get(resources.deployment, `${name}-target`))?.spec.template.spec.containers[0].image;
const imagesOf = (site: Site) => Promise.all(names.map((name) => imageOf(site, name)));
const updatedOf = async ({ objects }: Site, name: string) =>
  conditionOf(await objects.get(resources.target, name), "Updated");

async function makeTargets(site: Site): Promise<void> {
  for (const name of names) {
    await site.objects.create(makeSecret(`${name}-key`));
    await site.objects.create(makeTarget(name));
  }
  await site.until("all up to date", async () =>
    (await Promise.all(names.map((name) => updatedOf(site, name)))).every((each) => each === "True UpToDate"),
  );
}

describe("another image in the operator's settings", () => {
  test("reaches one Target after the other, over a restart, and nothing is written once all have it", async () => {
    await using site = await startSite("wave");
    await using _pods = runPods(site.plane, site.objects, () => true);
    await makeTargets(site);
    await site.restart(settingsWith(site, next));
    let most = 0;
    let restarted = false;
    await site.until(
      "all have it",
      async () => {
        const deployments = await site.objects.list(resources.deployment);
        most = Math.max(most, deployments.filter(isChanging).length);
        const done = (await imagesOf(site)).filter((image) => image === next).length;
        if (done === 2 && !restarted) {
          restarted = true;
          await site.restart(settingsWith(site, next));
        }
        const updated = await Promise.all(names.map((name) => updatedOf(site, name)));
        return done === names.length && updated.every((each) => each === "True UpToDate");
      },
      90_000,
    );
    expect(most).toBe(1);
    await untilAtRest(site);
    const before = await site.writes();
    site.operator.resync();
    await untilAtRest(site);
    expect(await site.writes()).toEqual(before);
  }, 180_000);

  test("that cannot run stops at one, which says so; scale, new objects and a user's own change do not wait, and the next image repairs first", async () => {
    await using site = await startSite("stuck");
    // Pods of the bad image never get ready.
    const { objects } = site;
    const bad = "netaminity:bad";
    await using _pods = runPods(site.plane, objects, (pod) => pod.spec.containers[0].image !== bad);
    await makeTargets(site);
    await site.restart(settingsWith(site, bad));
    await site.until("three wait", async () => {
      const updated = await Promise.all(names.map((name) => updatedOf(site, name)));
      return updated.filter((each) => each === "False WaitingForOthers").length === 3;
    });
    await untilAtRest(site);
    const images = await imagesOf(site);
    expect(images.filter((image) => image === bad)).toHaveLength(1);
    const waiting = names.filter((_, index) => images[index] !== bad);
    const [scaled = "", changed = ""] = waiting;
    const stuck = names.find((_, index) => images[index] === bad) ?? "";

    await objects.patch(resources.target, scaled, { spec: { replicas: 2 } });
    await site.until("scaled", async () => (await podsOf(objects, { target: scaled })).length === 2);
    expect(await imageOf(site, scaled)).toBe("netaminity:test");
    await objects.create(makeSecret("new-key"));
    await objects.create(makeTarget("new"));
    await site.until("the new one is made", async () => (await imageOf(site, "new").catch(() => "")) === bad);
    await objects.patch(resources.target, changed, { spec: { endpoint: "other.demo.svc:1" } });
    await site.until("the user's change goes", async () => (await imageOf(site, changed)) === bad);

    await site.restart(settingsWith(site, next));
    await site.until(
      "all repaired",
      async () => [...(await imagesOf(site)), await imageOf(site, "new")].every((image) => image === next),
      60_000,
    );
    expect(await updatedOf(site, stuck)).toStartWith("True");
  }, 180_000);
});

test("a paused Target's pods stay whatever changes, its replicas follow, and without the pause they are changed", async () => {
  await using site = await startSite("paused");
  const { objects } = site;
  await using _pods = runPods(site.plane, objects, () => true);
  await makeTargets(site);
  await objects.patch(resources.target, "a", { spec: { paused: true, endpoint: "other.demo.svc:1", replicas: 2 } });
  await site.restart(settingsWith(site, next));
  await site.until("paused", async () => (await updatedOf(site, "a")) === "False Paused");
  await site.until(
    "the others are changed",
    async () => (await imagesOf(site)).slice(1).every((image) => image === next),
    60_000,
  );
  await site.until("scaled", async () => (await podsOf(objects, { target: "a" })).length === 2);
  await untilAtRest(site);
  const deployment = await objects.get(resources.deployment, "a-target");
  const { image, env } = deployment?.spec.template.spec.containers[0] ?? {};
  const endpoint = env.find(({ name }: { name: string }) => name === "NETAMINITY_ENDPOINT")?.value;
  expect([image, endpoint]).toEqual(["netaminity:test", "backend.demo.svc:8080"]);
  expect(conditionOf(await objects.get(resources.target, "a"))).toBe("True SessionUp");
  await objects.patch(resources.target, "a", { spec: { paused: null } });
  await site.until("changed", async () => (await imageOf(site, "a")) === next);
}, 180_000);

/** Pods of two revisions, or a change that was not yet seen. */
function isChanging({ metadata, status }: Live): boolean {
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return !isSeen || (status?.replicas ?? 0) > (status?.updatedReplicas ?? 0);
}
