import { describe, expect, test } from "bun:test";
import { forgottenBy } from "../../../src/node/conntrack-changes.ts";
import { changeOf, replacement } from "../../../src/node/document.ts";
import { readListing } from "../../../src/node/listing.ts";
import { meshTableOf } from "../../../src/node/mesh-table.ts";
import { wholeIpAnnotation } from "../../../src/node/names.ts";
import type { NodePlan } from "../../../src/node/plan.ts";
import type { Table } from "../../../src/node/table.ts";
import { wholeIpTableOf } from "../../../src/node/whole-ip-table.ts";
import { endpoint, makeService, makeSlice, planOf } from "../../support/node-objects.ts";

function tableOf(plan: NodePlan, family: "ip" | "ip6" = "ip"): Table {
  const table = wholeIpTableOf(plan, family);
  if (table === undefined) throw new Error("there is no table");
  return table;
}

const filled = ({ sets }: Table) =>
  Object.fromEntries(sets.filter(({ elements }) => elements.size > 0).map((set) => [set.name, [...set.elements]]));

const internal: [string, string][] = [
  ["10.96.0.0-10.96.255.255", ""],
  ["10.244.1.0-10.244.2.255", ""],
  ["192.0.2.1-192.0.2.2", ""],
];
const local = planOf([makeService()]);
const remote = planOf([makeService()], { "demo/web": [makeSlice(endpoint("10.244.2.7", "two"))] });

describe("elements", () => {
  test("of a pod on this node", () => {
    expect(filled(tableOf(local))).toEqual({
      local_dnat: [["203.0.113.5", "10.244.1.10"]],
      local_snat: [["10.244.1.10", "203.0.113.5"]],
      internal,
      hairpin: [["10.244.1.10 10.244.1.10", ""]],
    });
  });

  test("of a pod on another node, which clients from outside reach over that node alone", () => {
    expect(filled(tableOf(remote))).toEqual({ remote_dnat: [["203.0.113.5", "10.244.2.7"]], internal });
  });

  test("of a pod on another node whose Service takes clients on any node", () => {
    const service = makeService({ spec: { externalTrafficPolicy: "Cluster" } });
    const plan = planOf([service], { "demo/web": [makeSlice(endpoint("10.244.2.7", "two"))] });
    expect(filled(tableOf(plan))).toEqual({
      remote_dnat: [["203.0.113.5", "10.244.2.7"]],
      cluster_dnat: [["203.0.113.5", "10.244.2.7"]],
      cluster_lbs: [["203.0.113.5", ""]],
      internal,
    });
  });

  test("of ports: the filter is keyed by the Service's address", () => {
    const ports = [
      { port: 80 },
      { port: 53, protocol: "UDP" },
      { port: 9, protocol: "SCTP" },
      { port: 7, protocol: "QUIC" },
    ];
    const plan = planOf([makeService({ annotations: { [wholeIpAnnotation]: "ports" }, spec: { ports } })]);
    const { allowed, filtered, icmp_ok } = filled(tableOf(plan));
    expect([allowed, filtered, icmp_ok]).toEqual([
      [
        ["203.0.113.5 tcp 80", ""],
        ["203.0.113.5 udp 53", ""],
        ["203.0.113.5 sctp 9", ""],
      ],
      [["203.0.113.5", ""]],
      undefined,
    ]);
  });
});

test("without a mapping in a family there is no table of that family", () => {
  expect(wholeIpTableOf(local, "ip6")).toBeUndefined();
  expect(wholeIpTableOf(planOf([]), "ip")).toBeUndefined();
});

describe("the change from one table to another", () => {
  test("of equal ones is nothing, whatever the order of what is in them", () => {
    expect(changeOf(tableOf(local), tableOf(local))).toEqual([]);
  });

  test("of elements alone is those elements, deletions first", () => {
    const moved = planOf([makeService()], { "demo/web": [makeSlice(endpoint("10.244.1.11"))] });
    const inTable = { family: "ip", table: "netaminity" };
    const pair = (pod: string) => ({ concat: [pod, pod] });
    const element = (name: string, ...elem: unknown[]) => ({ element: { ...inTable, name, elem } });
    expect(changeOf(tableOf(local), tableOf(moved))).toEqual([
      { delete: element("local_dnat", ["203.0.113.5", "10.244.1.10"]) },
      { delete: element("local_snat", ["10.244.1.10", "203.0.113.5"]) },
      { delete: element("hairpin", pair("10.244.1.10")) },
      { add: element("local_dnat", ["203.0.113.5", "10.244.1.11"]) },
      { add: element("local_snat", ["10.244.1.11", "203.0.113.5"]) },
      { add: element("hairpin", pair("10.244.1.11")) },
    ]);
  });

  test("of ranges, of rules or from nothing is the whole table", () => {
    const wider = planOf([makeService()], undefined, {
      podCidrs: [{ family: "ip", first: 0x0a000000n, last: 0x0affffffn }],
    });
    const foreign = { ...tableOf(local), chains: tableOf(local).chains.slice(1) };
    for (const there of [undefined, tableOf(wider), foreign]) {
      expect(changeOf(there, tableOf(local))).toEqual(replacement(tableOf(local)));
    }
  });

  test("to nothing deletes the table, and from nothing does nothing", () => {
    expect(changeOf(tableOf(local), undefined)).toEqual([{ delete: { table: { family: "ip", name: "netaminity" } } }]);
    expect(changeOf(undefined, undefined)).toEqual([]);
  });
});

describe("a listing", () => {
  const listingOf = (table: Table, extra: unknown[] = []) => {
    const objects = replacement(table).flatMap((command): unknown[] => {
      const { set, map, chain, rule, element } = (command.add ?? {}) as Record<string, Record<string, unknown>>;
      if (element !== undefined) return [];
      const { elements = new Map() } = table.sets.find(({ name }) => name === (set ?? map)?.name) ?? {};
      const elem = [...elements].map(([key, value]) =>
        value !== "" ? [key, value] : key.includes(" ") ? { concat: key.split(" ") } : key,
      );
      if (set !== undefined)
        return [{ set: { ...set, handle: 7, elem: set.flags === undefined ? elem : ranges(elements) } }];
      if (map !== undefined) return [{ map: { ...map, handle: 7, elem } }];
      return chain !== undefined ? [{ chain: { ...chain, handle: 8 } }] : rule !== undefined ? [{ rule }] : [];
    });
    return JSON.stringify({ nftables: [{ metainfo: {} }, { table: {} }, ...objects, ...extra] });
  };
  const ranges = (elements: ReadonlyMap<string, string>) =>
    [...elements.keys()].map((key) => ({ range: key.split("-") }));

  test("of what we wrote equals what we wrote", () => {
    const there = readListing(listingOf(tableOf(local)), "ip", "netaminity");
    expect(changeOf(there, tableOf(local))).toEqual([]);
  });

  test.each([
    ["a rule of somebody else", { rule: { chain: "forward", expr: [{ drop: null }] } }],
    ["a chain of somebody else", { chain: { name: "mine", type: "filter", hook: "input", prio: 0, policy: "drop" } }],
    ["a set of somebody else", { set: { name: "mine", type: "ipv4_addr" } }],
    ["an object that we never make", { counter: { name: "mine" } }],
  ])("with %s is another table, and replaced", (_, extra) => {
    const there = readListing(listingOf(tableOf(local), [extra]), "ip", "netaminity");
    expect(changeOf(there, tableOf(local))).toEqual(replacement(tableOf(local)));
  });
});

describe("the mesh's table", () => {
  const podCidrs = local.surroundings.podCidrs;
  const rules = (all: boolean) =>
    meshTableOf({ interfaces: ["netsody", "wg0"], all }, podCidrs, "ip")?.chains[0]?.rules;

  test("masquerades between pods only, unless it is to do more", () => {
    expect([rules(false)?.[0]?.length, rules(true)?.[0]?.length]).toEqual([4, 3]);
    expect(JSON.stringify(rules(false))).toContain("daddr");
    expect(JSON.stringify(rules(true))).not.toContain("daddr");
  });

  test("is not there in a family without pods", () => {
    expect(meshTableOf({ interfaces: ["netsody"], all: false }, podCidrs.slice(0, 0), "ip")).toBeUndefined();
  });
});

describe("connections that are to be forgotten", () => {
  test("when a pod has moved: all to the address, and what the pod here sent", () => {
    expect(forgottenBy(tableOf(local), tableOf(remote))).toEqual({
      family: "ip",
      moved: ["203.0.113.5"],
      added: [],
      waysOut: [{ pod: "10.244.1.10", address: "203.0.113.5" }],
    });
  });

  test("when an address is mapped for the first time: datagrams to it", () => {
    expect(forgottenBy(undefined, tableOf(local))).toMatchObject({ moved: [], added: ["203.0.113.5"], waysOut: [] });
  });

  test("none when nothing has moved", () => {
    expect(forgottenBy(tableOf(local), tableOf(local))).toBeUndefined();
  });
});
