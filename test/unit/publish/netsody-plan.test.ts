import { describe, expect, test } from "bun:test";
import { annotations, type KubeNode } from "../../../src/publish/kube-node.ts";
import { readNetwork } from "../../../src/publish/netsody-network.ts";
import {
  matchNodes,
  type NetsodyInput,
  planEntries,
  publishedEntries,
  writeNetwork,
} from "../../../src/publish/netsody-plan.ts";
import { makeNode } from "../../support/mesh.ts";
import { makeBase, makeEntry, pkOf } from "../../support/netsody.ts";
import { acceptAsAgent } from "../../support/netsody-validator.ts";
import { randomFrom } from "../../tunnel/exchange.ts";

function networkOf(base: string) {
  const read = readNetwork(base);
  if ("problem" in read) throw new Error(read.problem);
  return read.network;
}

const abc = networkOf(makeBase(["a", "b", "c"]));

function plan(nodes: readonly KubeNode[], given: Partial<NetsodyInput> = {}) {
  const input = { network: abc, nodes, published: [], expired: new Set<string>(), force: false, ...given };
  return planEntries(input, matchNodes(nodes, input.network));
}

describe("the node of a Node is", () => {
  test.each<[string, KubeNode, string | undefined]>([
    [
      "that of its annotation",
      makeNode("a", { annotations: { [annotations.netsodyPk]: pkOf(2).toUpperCase() } }),
      pkOf(2),
    ],
    ["that of its name", makeNode("b", { internalIps: ["10.182.130.1"] }), pkOf(2)],
    ["that of its InternalIP", makeNode("x", { internalIps: ["192.0.2.1", "10.182.130.3"] }), pkOf(3)],
    [
      "none that the annotation does not name",
      makeNode("a", { annotations: { [annotations.netsodyPk]: pkOf(9) } }),
      undefined,
    ],
    ["none without a match", makeNode("x"), undefined],
  ])("%s", (_what, node, pk) => {
    const { members, pending } = matchNodes([node], abc);
    expect([members[0]?.gw, pending[0]?.reason]).toEqual(
      pk === undefined ? [undefined, "NoMeshHost"] : [pk, undefined],
    );
  });

  test("nobody's when two Nodes could be it", () => {
    const { pending } = matchNodes([makeNode("a"), makeNode("x", { internalIps: ["10.182.130.1"] })], abc);
    expect(pending.map(({ reason }) => reason)).toEqual(["AmbiguousMeshHost", "AmbiguousMeshHost"]);
  });
});

describe("one pass", () => {
  test("publishes IPv4 and leaves IPv6 out", () => {
    const { entries, created, leftOut } = plan([makeNode("a", { podCidrs: ["fd00::/64", "10.42.0.0/24"] })]);
    expect([entries, created, leftOut]).toEqual([
      [makeEntry({ index: 1 })],
      [makeEntry({ index: 1 })],
      [{ node: "a", cidr: "fd00::/64" }],
    ]);
  });

  test("changes an entry whose CIDR or gateway has changed", () => {
    const { updated, deleted } = plan([makeNode("a")], { published: [makeEntry({ dest: "10.42.9.0/24" })] });
    expect([updated, deleted]).toEqual([[makeEntry()], []]);
    expect(plan([makeNode("a")], { published: [makeEntry({ gw: pkOf(3) })] }).updated).toEqual([makeEntry()]);
  });

  test("keeps the entries of a pending Node, until it has been pending for long", () => {
    const published = [makeEntry()];
    const node = makeNode("a", { podCidrs: [] });
    expect(plan([node], { published })).toMatchObject({ entries: published, held: published, deleted: [] });
    expect(plan([node], { published, expired: new Set(["a"]) })).toMatchObject({ entries: [], deleted: published });
  });

  test("keeps nothing that would make the file invalid: a CIDR that another Node has now, a gateway that is gone", () => {
    const pending = makeNode("a", { podCidrs: [] });
    const moved = plan([pending, makeNode("b")], { published: [makeEntry()] });
    expect(moved.entries).toEqual([makeEntry({ node: "b", gw: pkOf(2) })]);
    expect(plan([pending], { published: [makeEntry({ gw: pkOf(9) })] }).entries).toEqual([]);
  });

  test("keeps everything when there are no Nodes, and refuses to take most of it away at once", () => {
    const published = Array.from({ length: 6 }, (_, index) =>
      makeEntry({ node: `n${index}`, dest: `10.42.${index}.0/24` }),
    );
    expect(plan([], { published, force: true }).held).toEqual(published);
    expect(plan([makeNode("a", { podCidrs: ["10.43.0.0/24"] })], { published })).toMatchObject({
      refused: published,
      deleted: [],
    });
    expect(plan([makeNode("a", { podCidrs: ["10.43.0.0/24"] })], { published, force: true }).deleted).toEqual(
      published,
    );
  });
});

describe("the file", () => {
  const options = { table: "resource" as const, groups: ["ALL", 'quoted "group"'] };

  test("is the base as it was, with an entry for each CIDR behind it", () => {
    const base = makeBase(["a"]);
    const text = writeNetwork(base, [makeEntry()], { ...options, groups: ["ALL"] });
    expect(text.startsWith(base.trimEnd())).toBe(true);
    expect(text.slice(base.trimEnd().length)).toBe(
      `

# Pod CIDRs of Kubernetes Nodes, written by netaminity publish. What is changed from here on is put back.
[[resource]] # node=a index=0
dest = "10.42.0.0/24"
gw = "${pkOf(1)}"
groups = ["ALL"]
`,
    );
  });

  test("tells what was published, and nothing that stands in the base", () => {
    const base = makeBase(["a"], `\n[[resource]] # node=x index=0\ndest = "192.168.0.0/16"\ngw = "${pkOf(1)}"\n`);
    expect(publishedEntries(base)).toEqual([]);
    const entries = [makeEntry(), makeEntry({ index: 1, dest: "10.43.0.0/24" })];
    for (const groups of [[], ["ALL"]]) {
      for (const table of ["resource", "route"] as const) {
        expect(publishedEntries(writeNetwork(base, entries, { table, groups }))).toEqual(entries);
      }
    }
  });

  test("is one that agents accept, from any Nodes and whatever was published before", () => {
    const firstSeed = Number(process.env.NETAMINITY_SEED ?? Math.floor(Math.random() * 2 ** 31));
    for (let seed = firstSeed; seed < firstSeed + 300; seed += 1) {
      const random = randomFrom(seed);
      const upTo = (most: number) => Math.floor(random() * (most + 1));
      const hosts = Array.from({ length: 1 + upTo(5) }, (_, index) => `h${index}`);
      const base = makeBase(hosts, upTo(1) === 0 ? "" : `\n[[resource]]\ndest = "192.168.0.0/16"\ngw = "${pkOf(1)}"\n`);
      const nodes = Array.from({ length: upTo(7) }, (_, index) =>
        makeNode(`h${index}`, {
          podCidrs: [`10.42.${index}.0/24`, `fd00:${index}::/64`, `10.43.${index}.0/24`].slice(upTo(1), upTo(3)),
        }),
      );
      const published = Array.from({ length: upTo(8) }, (_, index) =>
        makeEntry({ node: `h${upTo(9)}`, index, dest: `10.42.${index}.0/24`, gw: pkOf(1 + upTo(7)) }),
      );
      const network = networkOf(base);
      const wanted = plan(nodes, { network, published, force: upTo(1) === 0 });
      const table = upTo(1) === 0 ? "resource" : "route";
      const text = writeNetwork(base, wanted.entries, { ...options, table });
      const context = `NETAMINITY_SEED=${seed}`;
      const accepted = acceptAsAgent(text).filter(({ dest }) => dest !== "192.168.0.0/16");
      expect(accepted, context).toEqual(wanted.entries.map(({ dest, gw }) => ({ dest, gw, groups: options.groups })));
      expect(readNetwork(text), context).toHaveProperty("network");
      const again = plan(nodes, { network, published: publishedEntries(text), force: true });
      expect([again.created, again.updated], context).toEqual([[], []]);
    }
  });
});
