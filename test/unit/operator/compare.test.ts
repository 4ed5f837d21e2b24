import { describe, expect, test } from "bun:test";
import { withHash } from "../../../src/desired/applied.ts";
import type { CachedObject } from "../../../src/operator/caches.ts";
import { changedLists, isAsWanted } from "../../../src/operator/compare.ts";
import type { DesiredObject } from "../../../src/plan/plan.ts";

const metadata = { name: "a", namespace: "demo" };
const wantedOf = (spec: unknown) =>
  ({ apiVersion: "v1", kind: "Service", metadata, spec }) as DesiredObject & { spec: unknown };
const liveOf = (spec: unknown) =>
  ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...metadata, uid: "u", resourceVersion: "1", labels: { added: "by others" } },
    spec,
  }) as CachedObject;

const podOf = (container: object) => ({ template: { spec: { containers: [{ name: "a", ...container }] } } });
const own = { name: "A", value: "1" };

const cases: Record<string, [wanted: unknown, live: unknown, same: boolean]> = {
  "equal fields": [{ type: "ClusterIP" }, { type: "ClusterIP" }, true],
  "defaults of the API server and fields of others": [
    { type: "ClusterIP" },
    { type: "ClusterIP", clusterIP: "10.0.0.1" },
    true,
  ],
  "a changed field": [{ type: "ClusterIP" }, { type: "NodePort" }, false],
  "a removed field": [{ type: "ClusterIP" }, {}, false],
  "empty values, which the API server leaves out": [
    { affinity: {}, tolerations: [], priorityClassName: "", hostNetwork: false },
    {},
    true,
  ],
  "false where the live value is true": [{ hostNetwork: false }, { hostNetwork: true }, false],
  "zero replicas where there is one": [{ replicas: 0 }, { replicas: 1 }, false],
  "a list of ours with one more entry": [{ hosts: ["a"] }, { hosts: ["a", "b"] }, false],
  "a list of ours in another order": [{ hosts: ["a", "b"] }, { hosts: ["b", "a"] }, false],
  "a list merged by key with an entry of others": [
    { ports: [{ port: 1 }] },
    { ports: [{ port: 2 }, { port: 1 }] },
    true,
  ],
  "a list merged by key without an entry of ours": [{ ports: [{ port: 1 }] }, { ports: [{ port: 2 }] }, false],
  "an environment with a variable of others": [podOf({ env: [own] }), podOf({ env: [own, { name: "B" }] }), true],
  "an environment with another value": [podOf({ env: [own] }), podOf({ env: [{ ...own, value: "2" }] }), false],
  "entries with defaults": [{ ports: [{ port: 1 }] }, { ports: [{ port: 1, protocol: "TCP" }] }, true],
  "a quantity that was rewritten": [
    { resources: { limits: { cpu: "0.5", memory: "1024Mi" } } },
    { resources: { limits: { cpu: "500m", memory: "1Gi" } } },
    true,
  ],
  "another quantity": [{ resources: { limits: { cpu: "0.5" } } }, { resources: { limits: { cpu: "501m" } } }, false],
  "a selector with one more key": [{ selector: { a: "b" } }, { selector: { a: "b", c: "d" } }, false],
  "labels with one more key": [{ labels: { a: "b" } }, { labels: { a: "b", c: "d" } }, true],
  "texts that only look like quantities": [{ env: { value: "1000m" } }, { env: { value: "1" } }, false],
};

describe("an object is as wanted", () => {
  for (const [name, [wanted, live, same]] of Object.entries(cases)) {
    test(`${name}: ${same}`, () => {
      expect(isAsWanted(wantedOf(wanted), liveOf(live))).toBe(same);
    });
  }
});

test("a field that is no longer wanted changes the hash, so that it is taken off", () => {
  const live = (wanted: DesiredObject, spec: unknown) => {
    const { annotations } = withHash(wanted).metadata;
    const object = liveOf(spec);
    return { ...object, metadata: { ...object.metadata, ...(annotations === undefined ? {} : { annotations }) } };
  };
  const before = wantedOf({ type: "ClusterIP", nodeSelector: { a: "b" } });
  const after = wantedOf({ type: "ClusterIP" });
  const unchanged = { type: "ClusterIP", nodeSelector: { a: "b" } };
  expect(isAsWanted(withHash(before), live(before, unchanged))).toBe(true);
  expect(isAsWanted(withHash(after), live(before, unchanged))).toBe(false);
});

test("lists that somebody has changed are to be written as a whole, and nothing else is", () => {
  const ports = [{ name: "x", port: 1 }];
  const wanted = wantedOf({ type: "ClusterIP", selector: { a: "b" }, ports, template: { spec: { hosts: ["h"] } } });
  const live = (spec: object) => liveOf({ ...(wanted.spec as object), clusterIP: "10.0.0.1", ...spec });
  const foreign = { type: "NodePort", selector: { a: "b", c: "d" } };
  expect(changedLists(wanted, live(foreign))).toBeUndefined();
  expect(changedLists(wanted, live({ ports: [...ports, { name: "y", port: 2 }] }))).toBeUndefined();
  expect(changedLists(wanted, live({ ports: [{ name: "x", port: 2 }] }))).toEqual({ spec: { ports } });
  expect(changedLists(wanted, live({ ports: [{ name: "x", port: 3 }], template: {} }))).toEqual({
    spec: { ports, template: { spec: { hosts: ["h"] } } },
  });
});
