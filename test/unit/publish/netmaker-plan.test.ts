import { describe, expect, test } from "bun:test";
import type { PlanInput } from "../../../src/publish/netmaker-plan.ts";
import type { Rule } from "../../../src/publish/netmaker-rules.ts";
import { carryOut, makeNode, makeRule, planFor } from "../../support/mesh.ts";

const nothing = { create: [], update: [], delete: [], refused: [], held: [], current: 0, foreign: 0 };
const { id: _, ...ruleOfA } = makeRule();

describe("one pass", () => {
  test("makes what is missing", () => {
    expect(planFor([makeNode("a")], [])).toEqual({ ...nothing, create: [ruleOfA] });
  });

  test("writes nothing when all is as it should be, also where the server writes the CIDR in another way", () => {
    const node = makeNode("a", { podCidrs: ["fd00:42::/64"] });
    expect(planFor([node], [makeRule({ range: "fd00:0042:0:0::/64" })])).toEqual({ ...nothing, current: 1 });
  });

  test.each<[string, Partial<Rule>]>([
    ["the range", { range: "10.42.9.0/24" }],
    ["NAT", { nat: true }],
    ["the status", { status: false }],
    ["the name", { name: "mine" }],
    ["the node, because it has joined anew", { nodes: { "node-before": 500 } }],
    ["the nodes, because the mesh has removed one", { nodes: {} }],
    ["the metric", { nodes: { "node-a": 501 } }],
    ["more nodes", { nodes: { "node-a": 500, "node-b": 500 } }],
    ["what stands behind the identity", { description: `${makeRule().description} please` }],
  ])("repairs %s", (_what, edit) => {
    const before = makeRule(edit);
    expect(planFor([makeNode("a")], [before])).toEqual({ ...nothing, update: [{ rule: makeRule(), before }] });
  });

  test("gives both CIDRs of a dual-stack Node a rule, and takes the second away with its CIDR", () => {
    const both = planFor([makeNode("a", { podCidrs: ["10.42.0.0/24", "fd00:42::/64"] })], []);
    expect(both.create.map(({ name, range }) => [name, range])).toEqual([
      ["a pods (1/2)", "10.42.0.0/24"],
      ["a pods (2/2)", "fd00:42::/64"],
    ]);
    const rules = carryOut(both, []);
    const one = planFor([makeNode("a")], rules);
    expect([one.update.map(({ rule }) => rule.name), one.delete.map(({ range }) => range)]).toEqual([
      ["a pods (1/1)"],
      ["fd00:42::/64"],
    ]);
  });

  test("keeps the lowest id of several rules of one identity, however many they are", () => {
    const rules = ["b", "a", "d", "c", "f", "e", "h", "g"].map((id) => makeRule({ id }));
    const plan = planFor([makeNode("a")], rules);
    expect([plan.current, plan.delete.map(({ id }) => id)]).toEqual([1, ["b", "c", "d", "e", "f", "g", "h"]]);
  });

  test("takes away the rules of a Node that is gone, and of no other cluster", () => {
    const gone = makeRule({ id: "gone", description: "netaminity/test node=gone index=0 (do not edit)" });
    const others = [
      makeRule({ id: "1", description: "netaminity/other node=gone index=0 (do not edit)" }),
      makeRule({ id: "2", description: "netaminity/test-2 node=gone index=0 (do not edit)" }),
      makeRule({ id: "3", description: "my netaminity/test node=gone index=0 (do not edit)" }),
      makeRule({ id: "4", description: "netaminity/test node=gone index=0x (do not edit)" }),
      makeRule({ id: "5", description: "Managed by kaput-not (DO NOT EDIT): index=0" }),
      makeRule({ id: "6", description: "" }),
    ];
    expect(planFor([makeNode("a")], [makeRule(), gone, ...others])).toEqual({
      ...nothing,
      current: 1,
      delete: [gone],
      foreign: 6,
    });
  });

  test("keeps the rules of a pending Node until it has been pending for long", () => {
    const node = makeNode("a", { podCidrs: [] });
    expect(planFor([node], [makeRule()])).toEqual({ ...nothing, held: [makeRule()] });
    expect(planFor([node], [makeRule()], { expired: new Set(["a"]) })).toEqual({ ...nothing, delete: [makeRule()] });
  });

  test("takes nothing away because of a list that came back empty, not even by force", () => {
    expect(planFor([], [makeRule()], { keepAll: true, force: true })).toEqual({ ...nothing, held: [makeRule()] });
  });
});

describe("deletions", () => {
  const nodes = (count: number) => Array.from({ length: count }, (_each, index) => makeNode(`n${index}`));
  const counts = (before: number, after: number, given: Partial<PlanInput> = {}) => {
    const plan = planFor(nodes(after), carryOut(planFor(nodes(before), []), []), given);
    return [plan.delete.length, plan.refused.length];
  };
  test.each([
    [5, 0, [5, 0]],
    [6, 0, [0, 6]],
    [20, 10, [10, 0]],
    [20, 9, [0, 11]],
  ])("of %d rules, so that those of %d Nodes stay, are made and refused: %p", (before, after, expected) => {
    expect(counts(before, after)).toEqual(expected);
  });

  test("are made by force however many they are", () => {
    expect(counts(20, 1, { force: true })).toEqual([19, 0]);
  });
});

describe("rules of kaput-not", () => {
  const theirs = (cluster = "", nodes: Rule["nodes"] = { "node-a": 500 }) =>
    makeRule({ description: `Managed by kaput-not (DO NOT EDIT): ${cluster}index=0`, nodes });

  test.each([
    ["without a cluster", theirs()],
    ["of this cluster", theirs("cluster=test ")],
  ])("%s are taken over in place", (_what, before) => {
    expect(planFor([makeNode("a")], [before], { adoptKaputNot: true })).toEqual({
      ...nothing,
      update: [{ rule: makeRule(), before }],
    });
  });

  test.each([
    ["of another cluster", theirs("cluster=other ")],
    ["of a mesh node that is no Node here", theirs("", { "node-x": 500 })],
    ["of no mesh node any more", theirs("", {})],
  ])("%s stay", (_what, before) => {
    expect(planFor([makeNode("a")], [before], { adoptKaputNot: true })).toEqual({
      ...nothing,
      create: [ruleOfA],
      foreign: 1,
    });
  });

  test("stay when nobody asked for it", () => {
    expect(planFor([makeNode("a")], [theirs()])).toEqual({ ...nothing, create: [ruleOfA], foreign: 1 });
  });

  test("that come beside one of ours are one too many", () => {
    const plan = planFor([makeNode("a")], [makeRule({ id: "1" }), { ...theirs(), id: "2" }], { adoptKaputNot: true });
    expect([plan.current, plan.delete.map(({ id }) => id)]).toEqual([1, ["2"]]);
  });
});
