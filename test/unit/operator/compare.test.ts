import { describe, expect, test } from "bun:test";
import { withHash } from "../../../src/desired/applied.ts";
import type { CachedObject } from "../../../src/operator/caches.ts";
import { isAsWanted, restoration } from "../../../src/operator/compare.ts";
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
  "a list with one more entry": [{ ports: [{ port: 1 }] }, { ports: [{ port: 1 }, { port: 2 }] }, false],
  "a list in another order": [{ ports: [{ port: 1 }, { port: 2 }] }, { ports: [{ port: 2 }, { port: 1 }] }, false],
  "entries with defaults": [{ ports: [{ port: 1 }] }, { ports: [{ port: 1, protocol: "TCP" }] }, true],
  "a quantity that was rewritten": [
    { limits: { cpu: "0.5", memory: "1024Mi" } },
    { limits: { cpu: "500m", memory: "1Gi" } },
    true,
  ],
  "another quantity": [{ limits: { cpu: "0.5" } }, { limits: { cpu: "501m" } }, false],
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

test("what others added inside of owned fields is undone, and nothing else", () => {
  const wanted = wantedOf({ selector: { a: "b" }, ports: [{ name: "x", port: 1 }], template: { labels: { a: "b" } } });
  const ports = [
    { name: "x", port: 1 },
    { name: "y", port: 2 },
  ];
  const live = liveOf({
    selector: { a: "b", c: "d" },
    ports,
    template: { labels: { a: "b", c: "d" } },
    clusterIP: "10.0.0.1",
  });
  expect(restoration(wanted, live)).toEqual({ spec: { selector: { c: null }, ports: [{ name: "x", port: 1 }] } });
  expect(restoration(wanted, liveOf(wanted.spec))).toBeUndefined();
});
