import { describe, expect, test } from "bun:test";
import { labels } from "../../../src/names.ts";
import { isOrphanOf } from "../../../src/plan/ownership.ts";
import { planTunnel } from "../../../src/plan/tunnel.ts";
import { makeTunnelInput, proxyOf, targetOf, tunnel } from "../../support/tunnel-input.ts";

const made = { [labels.managedBy]: "netaminity", [labels.proxy]: "db" };
const controller = { apiVersion: "v1", kind: "Tunnel", name: "t", uid: "t", controller: true };
const orphans: [sentence: string, found: object, isTaken: boolean][] = [
  ["with the labels of its former owner", { labels: made }, true],
  ["with labels of others beside them", { labels: { ...made, team: "a" } }, true],
  [
    "with an owner that does not control it",
    { labels: made, ownerReferences: [{ ...controller, controller: false }] },
    true,
  ],
  ["with a controller", { labels: made, ownerReferences: [controller] }, false],
  ["without one of the labels", { labels: { [labels.managedBy]: "netaminity" } }, false],
  ["of another name", { labels: { ...made, [labels.proxy]: "sql" } }, false],
  ["that was a part of something more", { labels: { ...made, [labels.tunnel]: "w" } }, false],
  ["without labels", {}, false],
];

describe("an object", () => {
  test.each(orphans)("%s", (_, found, isTaken) => {
    const object = { metadata: { name: "db-proxy", namespace: "demo", uid: "u", ...found } };
    expect(isOrphanOf(object, { metadata: { labels: made } })).toBe(isTaken);
  });
});

describe("a pair that a Tunnel of this name left", () => {
  const withoutOwner = <T extends { metadata: object }>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, ownerReferences: [] },
  });
  const labelled = (index: number) => ({
    ...{ [labels.name]: "netaminity", [labels.managedBy]: "netaminity" },
    ...{ [labels.tunnel]: tunnel.metadata.name, [labels.index]: `${index}` },
  });
  const left = (index: number, change: object = {}) =>
    [proxyOf(1), targetOf(1)].map((object) => {
      const bare = withoutOwner(object);
      return { ...bare, metadata: { ...bare.metadata, labels: { ...labelled(index), ...change } } };
    });
  const removed = (leftPairs: ReturnType<typeof left>, failures: Parameters<typeof makeTunnelInput>[0] = {}) => {
    const one = { ...tunnel, spec: { ...tunnel.spec, replicas: 1 } };
    const input = { tunnel: one, proxies: [proxyOf(0)], targets: [targetOf(0)], leftPairs, ...failures };
    return planTunnel(makeTunnelInput(input)).remove.map(({ kind, name }) => `${kind} ${name}`);
  };

  test("goes when it is one too many", () => {
    expect(removed(left(1))).toEqual(["Proxy api-1", "Target api-1"]);
  });

  test("stays when its labels say something else than its name", () => {
    expect([removed(left(2)), removed(left(1, { [labels.proxy]: "x" }))]).toEqual([[], []]);
  });

  test("is taken back when it is wanted", () => {
    expect(
      planTunnel(makeTunnelInput({ proxies: [proxyOf(0)], targets: [targetOf(0)], leftPairs: left(1) })).remove,
    ).toEqual([]);
  });
});
