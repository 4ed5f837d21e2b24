import { expect, test } from "bun:test";
import type { KubeObject } from "../../../src/kube/kube.ts";
import { type Change, createStore, type Origin } from "../../../src/kube/store.ts";

interface Pod extends KubeObject {
  node?: string;
}

function makePod(name: string, version: number, rest: { uid?: string; namespace?: string; node?: string } = {}): Pod {
  const { uid = `uid-${name}`, namespace = "demo", node } = rest;
  return {
    metadata: { name, namespace, uid, resourceVersion: String(version) },
    ...(node === undefined ? {} : { node }),
  };
}

function makeStore() {
  const changes: string[] = [];
  const note = ({ before, after }: Change<Pod>, origin: Origin) => {
    const version = (pod: Pod | undefined) => pod?.metadata.resourceVersion ?? "-";
    changes.push(`${(after ?? before)?.metadata.name} ${version(before)}>${version(after)} ${origin}`);
  };
  const store = createStore<Pod>({ indexBy: (pod) => (pod.node === undefined ? [] : [pod.node]), onChange: note });
  return { store, changes };
}

test("only newer versions are taken in, compared as numbers", () => {
  const { store, changes } = makeStore();
  store.put(makePod("a", 99));
  store.put(makePod("a", 100), "write");
  store.put(makePod("a", 100));
  store.put(makePod("a", 99));
  expect(changes).toEqual(["a ->99 watch", "a 99>100 write"]);
  expect(store.get("demo", "a")?.metadata.resourceVersion).toBe("100");
});

test("the late answer to a write does not bring a deleted object back", () => {
  const { store, changes } = makeStore();
  store.put(makePod("a", 1));
  store.drop(makePod("a", 5));
  store.put(makePod("a", 3), "write");
  expect(store.get("demo", "a")).toBeUndefined();
  expect(changes).toEqual(["a ->1 watch", "a 1>- watch"]);
});

test("an object whose label was taken off and put back is known again", () => {
  const { store } = makeStore();
  store.put(makePod("a", 1));
  store.drop(makePod("a", 5));
  store.put(makePod("a", 6), "write");
  expect(store.get("demo", "a")?.metadata.resourceVersion).toBe("6");
});

test("a successor of the same name is not removed by the end of its predecessor", () => {
  const { store } = makeStore();
  store.put(makePod("a", 9, { uid: "second" }));
  store.drop(makePod("a", 5, { uid: "first" }));
  expect(store.get("demo", "a")?.metadata.uid).toBe("second");
});

test("a list replaces everything of its namespace and nothing of others", () => {
  const { store, changes } = makeStore();
  store.put(makePod("a", 1));
  store.put(makePod("b", 2));
  store.put(makePod("c", 3, { namespace: "other" }));
  changes.length = 0;
  store.replace([makePod("b", 2), makePod("d", 4)], "demo");
  expect(changes).toEqual(["a 1>- watch", "d ->4 watch"]);
  expect([...store.values()].map((pod) => pod.metadata.name).sort()).toEqual(["b", "c", "d"]);
});

test("a list from an older backup of etcd wins over what was known", () => {
  const { store } = makeStore();
  store.put(makePod("a", 900));
  store.replace([makePod("a", 10)]);
  expect(store.get("demo", "a")?.metadata.resourceVersion).toBe("10");
});

test("an object that a write told and an older list does not have yet comes with the watch", () => {
  const { store } = makeStore();
  store.put(makePod("a", 7), "write");
  store.replace([]);
  store.put(makePod("a", 7));
  expect(store.get("demo", "a")?.metadata.resourceVersion).toBe("7");
});

test("the index follows changes and removals", () => {
  const { store } = makeStore();
  const names = (node: string) => store.indexed(node).map((pod) => pod.metadata.name);
  store.put(makePod("a", 1, { node: "n1" }));
  store.put(makePod("b", 2, { node: "n1" }));
  expect(names("n1")).toEqual(["a", "b"]);
  store.put(makePod("a", 3, { node: "n2" }));
  expect([names("n1"), names("n2")]).toEqual([["b"], ["a"]]);
  store.drop(makePod("b", 4, { node: "n1" }));
  expect(names("n1")).toEqual([]);
});
