import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { replacement } from "../../src/node/document.ts";
import { wholeIpAnnotation, wholeIpTable } from "../../src/node/names.ts";
import { run } from "../support/cluster/command.ts";
import { endpointOf, type KeptNodes, keepNodes } from "../support/node-kept.ts";
import { addressesOf, type Lab, openLab } from "../support/node-lab.ts";
import { makeService, makeSlice, type Slices } from "../support/node-objects.ts";

setDefaultTimeout(60_000);

const at = addressesOf.ip;
let lab: Lab;
let nodes: KeptNodes;

beforeAll(async () => {
  lab = await openLab("ip");
  nodes = keepNodes(lab, "ip");
});
afterAll(async () => {
  await nodes?.[Symbol.asyncDispose]();
  await lab?.[Symbol.asyncDispose]();
});

const service = (spec = {}) =>
  makeService({ addresses: [at.overOne], spec: { externalTrafficPolicy: "Cluster", ...spec } });
const on = (pod: "a" | "b" | "c") => ({ "demo/web": [makeSlice(endpointOf(at[pod], pod === "c" ? "two" : "one"))] });
const inNode = (...command: string[]) => run([...lab.on("one"), ...command]);

/** Resolves when it holds; the deadline is in milliseconds. */
async function until(holds: () => Promise<boolean>, deadline = 10_000): Promise<void> {
  const end = performance.now() + deadline;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${deadline} ms`);
    await Bun.sleep(20);
  }
}

test("a client that goes on sending datagrams from one port reaches the pod that has the address now", async () => {
  await nodes.are([service()], on("a"));
  const ask = { to: at.overOne, port: 80, from: 4000, tries: 3 };
  // Over the node `one` to a pod elsewhere the client hides behind that node.
  expect(await lab.tell.outside("udp", ask)).toBe(at.outside);
  await nodes.are([service()], on("c"));
  await until(async () => (await lab.tell.outside("udp", ask).catch(() => "")) === at.one);
});

test("a client that sent datagrams before the address led anywhere is not left waiting", async () => {
  await nodes.are([service()], {});
  const ask = { to: at.overOne, port: 80, from: 4001, tries: 3 };
  expect(await lab.tell.outside("udp", ask).catch(() => "nothing")).toBe("nothing");
  await nodes.are([service()], on("a"));
  await until(async () => (await lab.tell.outside("udp", ask).catch(() => "")) === at.outside);
});

test("what a pod sent with an address is forgotten when the address is another pod's", async () => {
  await nodes.are([service()], on("a"));
  const ask = { to: at.outside, port: 80, from: 4002, tries: 3 };
  expect(await lab.tell.a("udp", ask)).toBe(at.overOne);
  await nodes.are([service()], on("b"));
  await until(async () => (await lab.tell.a("udp", ask)) === at.one);
});

describe("a connection that stands", () => {
  beforeAll(async () => {
    await nodes.are([service()], on("a"));
    await lab.tell.outside("open", { name: "in", to: at.overOne, port: 8080 });
    await lab.tell.a("open", { name: "out", to: at.outside, port: 8080 });
  });
  const stands = async () => [
    await lab.tell.outside("say", { name: "in", text: "still there" }),
    await lab.tell.a("say", { name: "out", text: "here too" }),
  ];

  test("outlives a new process", async () => {
    await nodes.one.restart();
    await nodes.kept();
    expect(await stands()).toEqual(["still there", "here too"]);
  });

  test("outlives a replacement of the table", async () => {
    const table = nodes.one.wanted("ip", wholeIpTable);
    if (table === undefined) throw new Error("there is no table");
    await nodes.one.nft.apply(replacement(table));
    expect(await stands()).toEqual(["still there", "here too"]);
  });

  test("outlives that only its port is left open", async () => {
    await nodes.are(
      [{ ...service(), metadata: { ...service().metadata, annotations: { [wholeIpAnnotation]: "ports" } } }],
      on("a"),
    );
    expect(await stands()).toEqual(["still there", "here too"]);
    await nodes.are([service()], on("a"));
  });
});

test("while the table is replaced again and again no client is turned away", async () => {
  await nodes.are([service()], on("a"));
  const table = nodes.one.wanted("ip", wholeIpTable);
  if (table === undefined) throw new Error("there is no table");
  await lab.tell.outside("load", { to: at.overOne, port: 80, every: 2 });
  for (let times = 0; times < 40; times += 1) await nodes.one.nft.apply(replacement(table));
  const { good, bad } = (await lab.tell.outside("stop")) as { good: number; bad: number };
  expect(bad).toBe(0);
  expect(good).toBeGreaterThan(100);
});

describe("what somebody else changes by hand is put right within two seconds:", () => {
  const edits: [string, string[]][] = [
    ["the table is deleted", ["delete", "table", "ip", wholeIpTable]],
    ["all tables are deleted", ["flush", "ruleset"]],
    ["a rule is added", ["add", "rule", "ip", wholeIpTable, "forward", "drop"]],
    ["a chain is emptied", ["flush", "chain", "ip", wholeIpTable, "prerouting"]],
    ["an element is deleted", ["delete", "element", "ip", wholeIpTable, "local_dnat", `{ ${at.overOne} : ${at.a} }`]],
    ["an element is added", ["add", "element", "ip", wholeIpTable, "filtered", "{ 203.0.113.77 }"]],
    ["a range is added", ["add", "element", "ip", wholeIpTable, "internal", "{ 198.51.100.0/24 }"]],
  ];
  test.each(edits)("%s", async (_, edit) => {
    await nodes.are([service()], on("a"));
    const started = performance.now();
    await inNode("nft", ...edit);
    await nodes.kept();
    expect(performance.now() - started).toBeLessThan(2000);
    const repairs = async () => (await nodes.one.metrics.repairs.get()).values[0]?.value ?? 0;
    expect(await repairs()).toBeGreaterThan(0);
  });
});

test("a Service that is deleted while it has no pod leaves nothing", async () => {
  await nodes.are([service()], on("a"));
  await nodes.are([service()], {});
  await nodes.are([], {});
  expect(await inNode("nft", "list", "tables")).not.toContain("ip netaminity");
});

test("a Service with SCTP alone closes nothing else", async () => {
  const sctp = makeService({
    name: "sctp",
    addresses: ["203.0.113.6"],
    annotations: { [wholeIpAnnotation]: "ports" },
    spec: { ports: [{ port: 9, protocol: "SCTP" }] },
  });
  await nodes.are([service(), sctp], { ...on("a"), "demo/sctp": [makeSlice(endpointOf(at.b, "one"))] });
  const seen = async (to: string) => await lab.tell.outside("tcp", { to, port: 8080 }).catch(() => "nothing");
  expect([await seen(at.overOne), await seen("203.0.113.6")]).toEqual([at.outside, "nothing"]);
  // The pod itself is no part of the filter.
  expect(await lab.tell.c("tcp", { to: at.b, port: 8080 })).toBe(at.c);
});

test("what is refused by the kernel leaves the table as it was", async () => {
  await nodes.are([service()], on("a"));
  const bad = { add: { rule: { family: "ip", table: wholeIpTable, chain: "nowhere", expr: [] } } };
  const good = { delete: { table: { family: "ip", name: wholeIpTable } } };
  const refused = await nodes.one.nft.apply([good, bad]).catch((error: unknown) => error);
  expect(String(refused)).toMatch(/NodeProgramError: .*nft -j -f - failed with 1/);
  await nodes.kept();
});

test("storms of a thousand Services end in the table of a fresh render", async () => {
  const many = Array.from({ length: 1000 }, (_, index) => ({
    service: makeService({
      name: `s${index}`,
      addresses: [`198.18.${index >> 8}.${index & 255}`],
      ...(index % 3 === 0 ? { annotations: { [wholeIpAnnotation]: "ports" } } : {}),
    }),
    slice: makeSlice(endpointOf(`10.244.${1 + (index & 1)}.${10 + (index >> 3)}`, index & 1 ? "two" : "one")),
  }));
  // Repeatable: which ones come and go in each round depends on numbers alone.
  let seed = 7;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  for (let round = 0; round < 60; round += 1) {
    const share = random();
    const some = many.filter(() => random() < share);
    const slices: Slices = Object.fromEntries(
      some.map(({ service: { metadata }, slice }) => [`demo/${metadata.name}`, [slice]]),
    );
    nodes.become(
      some.map((each) => each.service),
      slices,
    );
    await Bun.sleep(random() * 60);
  }
  await nodes.kept();
  const elements = nodes.one.wanted("ip", wholeIpTable)?.sets.map((set) => set.elements.size) ?? [];
  expect(Math.max(...elements)).toBeGreaterThan(10);
  await nodes.are([], {});
});
