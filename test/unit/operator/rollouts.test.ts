import { expect, test } from "bun:test";
import { withHash } from "../../../src/desired/applied.ts";
import type { AgentDeployment } from "../../../src/desired/deployment.ts";
import { targetDeployment } from "../../../src/desired/target-deployment.ts";
import { createStore } from "../../../src/kube/store.ts";
import { controlledBy } from "../../../src/operator/caches.ts";
import type { CachedDeployment, CachedProxy, CachedTarget } from "../../../src/operator/keep.ts";
import { createOperatorMetrics } from "../../../src/operator/metrics.ts";
import { createRollouts, placesOf, type Rollouts } from "../../../src/operator/rollouts.ts";
import { pace } from "../../../src/plan/pace.ts";
import { settings as base, makeDeployment, makeTarget } from "../../support/objects.ts";

test.each([
  ["10%", 0, 1],
  ["10%", 9, 1],
  ["10%", 25, 2],
  ["100%", 7, 7],
  ["3", 1, 3],
  ["20", 100, 20],
] as const)("%s of %d objects are %d at once", (setting, all, places) => {
  expect(placesOf(setting, all)).toBe(places);
});

type Owners = { tunnel?: string };

/** A cluster of Targets in memory whose Deployments were made with an older image. */
function makeWorld(maxRollouts: string, names: readonly string[], { tunnel }: Owners = {}) {
  const settings = { ...base, maxRollouts, agent: { ...base.agent, image: "netaminity:next" } };
  let rollouts: Rollouts | undefined;
  const onChange = (change: Parameters<Rollouts["onChange"]>[0]) => rollouts?.onChange(change);
  const controllers = (object: CachedDeployment) =>
    (object.metadata.ownerReferences ?? []).map(({ uid }) => controlledBy(uid));
  const caches = {
    proxies: createStore<CachedProxy>({ onChange }),
    targets: createStore<CachedTarget>({ onChange }),
    deployments: createStore<CachedDeployment>({ onChange, indexBy: controllers }),
  };
  let version = 0;
  const cached = <T>(object: object): T => {
    version += 1;
    const { metadata } = object as { metadata: object };
    return { ...object, metadata: { ...metadata, resourceVersion: `${version}` } } as T;
  };
  const targetOf = (name: string, paused = false) => {
    const [namespace = "", own = ""] = name.split("/");
    const owner =
      tunnel === undefined
        ? {}
        : { owner: { apiVersion: "v1", kind: "Tunnel", metadata: { name: tunnel, uid: tunnel } } };
    return makeTarget(paused ? { paused } : {}, { name: own, namespace, uid: name, ...owner });
  };
  const write = (name: string, from: AgentDeployment, done: boolean) => {
    const owner = targetOf(name);
    const annotations = withHash(from).metadata.annotations ?? {};
    const status = done ? { replicas: 1, updatedReplicas: 1 } : { observedGeneration: 4 };
    const { namespace } = owner.metadata;
    const deployment = makeDeployment(from.metadata.name, { owner, annotations, namespace, status });
    caches.deployments.put(cached<CachedDeployment>(deployment), "write");
  };
  for (const name of names) {
    caches.targets.put(cached<CachedTarget>(targetOf(name)), "watch");
    write(name, targetDeployment(targetOf(name), base.agent), true);
  }
  const woken: string[] = [];
  const start = () => {
    woken.length = 0;
    rollouts = createRollouts({ caches, settings, metrics: createOperatorMetrics(), wake: (key) => woken.push(key) });
    return rollouts;
  };
  const wanted = (name: string) => targetDeployment(targetOf(name), settings.agent);
  const own = start();
  return {
    woken,
    start,
    /** One pass over the object, as a reconcile makes it. Whether its pods were changed. */
    pass(name: string): boolean {
      const turn = (rollouts ?? own).take(`Target/${name}`);
      const [observed] = caches.deployments.indexed(controlledBy(name));
      const { apply } = pace(targetOf(name), wanted(name), observed, turn);
      const [first] = apply;
      const changes =
        first !== undefined && !Bun.deepEquals(observed?.metadata.annotations, withHash(first).metadata.annotations);
      if (changes) write(name, first as AgentDeployment, false);
      (rollouts ?? own).done(`Target/${name}`);
      return changes;
    },
    /** The new pods of the object are ready and the old ones gone. */
    finish(name: string) {
      const observed = caches.deployments.indexed(controlledBy(name))[0];
      if (observed === undefined) throw new Error("no Deployment");
      caches.deployments.put(
        cached<CachedDeployment>({ ...observed, status: { observedGeneration: 5, replicas: 1, updatedReplicas: 1 } }),
        "watch",
      );
    },
    pause(name: string) {
      caches.targets.put(cached<CachedTarget>(targetOf(name, true)), "watch");
    },
    remove(name: string) {
      caches.targets.drop(cached<CachedTarget>(targetOf(name)));
    },
  };
}

const names = ["a/one", "a/two", "b/one", "b/two"];

test("no more than the limit are changed at once, also after a restart, and each end wakes the next", () => {
  const world = makeWorld("2", names);
  expect(names.map(world.pass)).toEqual([true, true, false, false]);
  world.start();
  expect(names.map(world.pass)).toEqual([false, false, false, false]);
  world.finish("a/one");
  expect(world.woken).toEqual(["Target/b/one"]);
  expect(world.pass("b/one")).toBe(true);
  world.finish("a/two");
  expect(world.pass("b/two")).toBe(true);
  for (const name of ["b/one", "b/two"]) world.finish(name);
  expect(names.map(world.pass)).toEqual([false, false, false, false]);
});

test("namespaces are equally far", () => {
  const all = ["a/1", "a/2", "a/3", "b/1", "c/1"];
  const world = makeWorld("1", all);
  const order = ["a/1"];
  world.pass("a/1");
  for (let name = "a/1"; ; ) {
    world.woken.length = 0;
    world.finish(name);
    const next = world.woken[0]?.replace("Target/", "");
    if (next === undefined) break;
    expect(world.pass(next)).toBe(true);
    order.push(next);
    name = next;
  }
  expect(order).toEqual(["a/1", "b/1", "c/1", "a/2", "a/3"]);
});

test("a change that does not end stops the wave; pausing or removing its object lets it go on", () => {
  for (const end of ["pause", "remove"] as const) {
    const world = makeWorld("1", names);
    expect(names.map(world.pass)).toEqual([true, false, false, false]);
    expect(world.woken).toEqual([]);
    world[end]("a/one");
    const [next = ""] = world.woken;
    expect(next).toBe(end === "pause" ? "Target/b/one" : "Target/a/two");
    expect(world.pass(next.replace("Target/", ""))).toBe(true);
  }
});

test("one that is woken and does not begin does not keep the others waiting", () => {
  const world = makeWorld("1", names);
  world.pass("a/one");
  world.finish("a/one");
  const [head = ""] = world.woken;
  // Another object comes and goes: the place is free still, and the next one is woken.
  world.pass("b/two");
  world.finish("b/two");
  expect(world.woken.slice(1).some((key) => key !== head)).toBe(true);
});

test("pairs of one Tunnel are changed one after the other, however many places there are", () => {
  const world = makeWorld("100%", ["a/t-0", "a/t-1", "a/t-2"], { tunnel: "t" });
  const all = ["a/t-0", "a/t-1", "a/t-2"];
  expect(all.map(world.pass)).toEqual([true, false, false]);
  world.finish("a/t-0");
  expect(all.map(world.pass)).toEqual([false, true, false]);
});
