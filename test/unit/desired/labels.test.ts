import { expect, test } from "bun:test";
import { proxyLabels } from "../../../src/desired/labels.ts";
import { groupVersion, labels } from "../../../src/names.ts";
import { makeProxy } from "../../support/objects.ts";

const tunnel = { apiVersion: groupVersion, kind: "Tunnel", name: "w", uid: "t", controller: true };
const rows: [sentence: string, name: string, owner: object, isPair: boolean][] = [
  ["pair 0 of the Tunnel that controls it", "w-0", {}, true],
  ["pair 63", "w-63", {}, true],
  ["something else that the Tunnel controls", "other", {}, false],
  ["a name that only looks like a pair's", "w-00", {}, false],
  ["a Tunnel that does not control it", "w-0", { controller: false }, false],
  ["another product's kind Tunnel", "w-0", { apiVersion: "networking.example.net/v1" }, false],
];

test.each(rows)("a Proxy gets the label of a Tunnel's consumers or none: %s", (_, name, owner, isPair) => {
  const proxy = makeProxy({}, { name });
  const metadata = { ...proxy.metadata, ownerReferences: [{ ...tunnel, ...owner }] };
  expect(proxyLabels({ ...proxy, metadata })[labels.tunnel]).toBe(isPair ? "w" : undefined);
});
