import { expect, test } from "bun:test";
import type { Rule } from "../../../src/publish/netmaker-rules.ts";
import { carryOut, makeNode, planFor } from "../../support/mesh.ts";
import { randomFrom } from "../../tunnel/exchange.ts";

/** `NETAMINITY_SEED=N` repeats a failed run. */
const firstSeed = Number(process.env.NETAMINITY_SEED ?? Math.floor(Math.random() * 2 ** 31));
const runs = 500;

type Pick = <T>(from: readonly T[]) => T;

function picker(seed: number): { pick: Pick; upTo: (most: number) => number } {
  const random = randomFrom(seed);
  const upTo = (most: number) => Math.floor(random() * (most + 1));
  const pick: Pick = (from) => {
    const one = from[upTo(from.length - 1)];
    if (one === undefined) throw new Error("nothing to pick from");
    return one;
  };
  return { pick, upTo };
}

const cidrs = ["10.42.0.0/24", "10.42.1.0/24", "fd00:42::/64", "fd00:0042:0:1::/64"];
const names = ["a", "b", "c", "d.example.com", "e"];

function randomRule({ pick, upTo }: ReturnType<typeof picker>, id: number): Rule {
  const owner = pick(["netaminity/test", "netaminity/test", "netaminity/other"]);
  const description = pick([
    `${owner} node=${pick(names)} index=${upTo(2)} (do not edit)`,
    `${owner} node=${pick(names)} index=${upTo(2)} (do not edit)`,
    `${owner} node=${pick(names)} index=${upTo(2)} edited`,
    `Managed by kaput-not (DO NOT EDIT): ${pick(["", "cluster=test ", "cluster=other "])}index=${upTo(2)}`,
    pick(["", "office", "netaminity"]),
  ]);
  return {
    id: `${pick(["0", "9", "f"])}-${id}`,
    network: pick(["net", "net", "elsewhere"]),
    name: pick(["mine", "a pods (1/1)", "b pods (1/2)"]),
    description,
    range: pick([...cidrs, "", "0.0.0.0/0"]),
    nat: pick([true, false]),
    status: pick([true, false]),
    nodes: pick<Rule["nodes"]>([
      {},
      { "node-a": 500 },
      { "node-b": 7 },
      { "node-a": 500, "node-c": 500 },
      { gone: 500 },
    ]),
  };
}

test("from any rules one pass by force reaches the fixpoint, the second writes nothing, and rules of others stay byte for byte", () => {
  for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
    const random = picker(seed);
    const { pick, upTo } = random;
    const nodes = names
      .slice(0, 1 + upTo(names.length - 1))
      .map((name) => makeNode(name, { podCidrs: cidrs.slice(0, upTo(2)).toReversed() }));
    const rules = Array.from({ length: upTo(25) }, (_, id) => randomRule(random, id));
    const given = {
      force: true,
      adoptKaputNot: pick([true, false]),
      expired: pick([new Set<string>(), new Set(names)]),
    };
    const first = planFor(nodes, rules, given);
    const after = carryOut(first, rules);
    const second = planFor(nodes, after, given);
    const context = `NETAMINITY_SEED=${seed}`;
    expect([second.create, second.update, second.delete, second.refused], context).toEqual([[], [], [], []]);
    expect(second.current, context).toBe(first.current + first.create.length + first.update.length);
    const isForeign = ({ description }: Rule) =>
      !description.startsWith("netaminity/test ") && !(given.adoptKaputNot && description.startsWith("Managed by"));
    expect(JSON.stringify(after.filter(isForeign)), context).toBe(JSON.stringify(rules.filter(isForeign)));
    const wanted = nodes.flatMap(({ name, podCidrs }) => podCidrs.map((range) => `${name} ${range}`));
    const published = after
      .filter(({ network, description }) => network === "net" && description.startsWith("netaminity/test "))
      .map(({ description, range }) => `${/node=(\S+)/.exec(description)?.[1]} ${range}`);
    expect(published, context).toEqual(expect.arrayContaining(wanted));
  }
});
