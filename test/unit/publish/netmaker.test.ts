import { describe, expect, test } from "bun:test";
import { makeNode, makeRule } from "../../support/mesh.ts";
import type { Fault } from "../../support/netmaker.ts";
import { failOnce, netmakerRig, openProvider, pass, rulesOf } from "../../support/netmaker-rig.ts";

const rig = netmakerRig();

describe("a pass", () => {
  test("makes the rules of all networks of a host; the next one reads four times and writes nothing", async () => {
    const { nodes } = rig.netmaker.join("a", ["net", "other net?&"]);
    const provider = openProvider(rig);
    const nodeA = makeNode("a", { podCidrs: ["10.42.0.0/24", "FD00:42:0:0::/64"] });
    const { applied } = await pass(provider, [nodeA]);
    expect(applied).toEqual({ created: 4, updated: 0, deleted: 0, failures: [] });
    expect(rulesOf(rig).map(({ network, range, nodes: of }) => [network, range, of])).toEqual(
      ["net", "other net?&"].flatMap((network, index) =>
        ["10.42.0.0/24", "fd00:42::/64"].map((range) => [network, range, { [nodes[index]?.id ?? ""]: 500 }]),
      ),
    );
    rig.netmaker.requests.length = 0;
    const { picture } = await pass(provider, [nodeA]);
    expect([picture.changes, picture.states.current]).toEqual([[], 4]);
    expect(rig.netmaker.requests.toSorted()).toEqual([
      "GET /api/hosts",
      "GET /api/nodes",
      "GET /api/v1/egress",
      "GET /api/v1/egress",
    ]);
  });

  test("gives a host that joined anew its rules back, and leaves no orphan", async () => {
    rig.netmaker.join("a");
    const provider = openProvider(rig);
    await pass(provider);
    const before = [...rig.netmaker.rules.keys()];
    const { nodes } = rig.netmaker.join("a");
    const { applied } = await pass(provider);
    expect([applied.updated, [...rig.netmaker.rules.keys()]]).toEqual([1, before]);
    expect(rulesOf(rig)[0]?.nodes).toEqual({ [nodes[0]?.id ?? ""]: 500 });
  });

  test("finds a host that joins after its Node, and one that was renamed", async () => {
    rig.netmaker.join("b");
    const provider = openProvider(rig);
    expect((await pass(provider)).picture.pending.map(({ reason }) => reason)).toEqual(["NoMeshHost"]);
    const host = rig.netmaker.join("a");
    await pass(provider);
    expect(rulesOf(rig)).toHaveLength(1);
    host.name = "other";
    expect((await pass(provider)).picture.states).toEqual({ current: 0, held: 1, refused: 0, foreign: 0 });
    host.name = "a.example.com";
    const renamed = makeNode("a", { annotations: { "netaminity.exeteres.net/mesh-host": host.id } });
    expect((await pass(provider, [renamed])).picture.states.current).toBe(1);
  });

  test("takes the rules of a Node that stays pending away after ten minutes", async () => {
    rig.netmaker.join("a");
    rig.netmaker.join("b");
    const provider = openProvider(rig);
    await pass(provider);
    rig.netmaker.leave("a");
    await pass(provider);
    rig.clock += 10 * 60_000 - 1;
    await pass(provider);
    expect(rulesOf(rig)).toHaveLength(1);
    rig.clock += 1;
    await pass(provider);
    expect(rulesOf(rig)).toEqual([]);
  });

  test("clears a network that a host left while nobody looked", async () => {
    rig.netmaker.join("a", ["net"]);
    rig.netmaker.join("b", ["left"]);
    const orphan = makeRule({ network: "left" });
    rig.netmaker.rules.set(orphan.id, orphan);
    await pass(openProvider(rig));
    expect(rulesOf(rig).map(({ network }) => network)).toEqual(["net"]);
  });

  test("leaves everything when a list comes back empty", async () => {
    rig.netmaker.join("a");
    const provider = openProvider(rig, { force: true });
    await pass(provider);
    const noNodes = await pass(provider, []);
    expect([noNodes.picture.states.held, noNodes.picture.notes.map(({ reason }) => reason)]).toEqual([
      1,
      ["EmptyList"],
    ]);
    rig.netmaker.hosts.clear();
    rig.clock += 3_600_000;
    const noHosts = await pass(provider);
    expect([noHosts.applied.deleted, noHosts.picture.states.held]).toEqual([0, 1]);
  });

  test("touches neither rules of people nor those of another cluster", async () => {
    rig.netmaker.join("a");
    const foreign = [
      makeRule({ id: "1", description: "office", nat: true }),
      makeRule({ id: "2", description: "netaminity/other node=a index=0 (do not edit)" }),
    ];
    for (const rule of foreign) rig.netmaker.rules.set(rule.id, rule);
    const before = JSON.stringify(foreign);
    const provider = openProvider(rig);
    const other = openProvider(rig, { cluster: "other" });
    await pass(provider);
    await pass(other);
    await pass(provider);
    expect(JSON.stringify([...rig.netmaker.rules.values()].filter(({ id }) => id === "1"))).toBe(
      JSON.stringify([foreign[0]]),
    );
    expect(JSON.stringify(foreign)).toBe(before);
    expect(rulesOf(rig).map(({ description }) => description)).toEqual([
      "office",
      "netaminity/other node=a index=0 (do not edit)",
      "netaminity/test node=a index=0 (do not edit)",
    ]);
  });

  test("takes over the rules of kaput-not without a gap: by one PUT each, and no rule comes or goes", async () => {
    const { nodes } = rig.netmaker.join("a");
    const theirs = makeRule({
      id: "k",
      description: "Managed by kaput-not (DO NOT EDIT): index=0",
      nodes: { [nodes[0]?.id ?? ""]: 500 },
    });
    rig.netmaker.rules.set("k", theirs);
    await pass(openProvider(rig, { adoptKaputNot: true }));
    expect(rig.netmaker.writes()).toEqual(["PUT /api/v1/egress"]);
    expect([...rig.netmaker.rules.values()]).toEqual([
      { ...theirs, description: "netaminity/test node=a index=0 (do not edit)" },
    ]);
  });
});

describe("a failure", () => {
  test("behind a POST that was carried out makes no second rule that stays", async () => {
    rig.netmaker.join("a");
    const provider = openProvider(rig);
    failOnce(rig, "POST /api/v1/egress", "drop-after");
    const { applied } = await pass(provider);
    expect([applied.created, applied.failures.length]).toEqual([0, 1]);
    const { picture } = await pass(provider);
    expect([picture.changes, rulesOf(rig).length]).toEqual([[], 1]);
  });

  test("behind a POST on a connection that was used before does not repeat it in silence", async () => {
    rig.netmaker.join("a");
    rig.netmaker.join("b");
    const provider = openProvider(rig);
    await pass(provider, [makeNode("b", { podCidrs: ["10.42.1.0/24"] })]);
    failOnce(rig, "POST /api/v1/egress", "drop-after");
    await pass(provider, [makeNode("a"), makeNode("b", { podCidrs: ["10.42.1.0/24"] })]);
    expect(rig.netmaker.writes().filter((request) => request.startsWith("POST"))).toHaveLength(2);
  });

  test.each<[string, Fault]>([
    ["a dropped connection", "drop"],
    ["500", { code: 500 }],
    ["503 with Retry-After", { code: 503, retryAfter: 0.01 }],
    ["429", { code: 429 }],
    ["no answer", "stall"],
  ])("of a GET (%s) is tried again within the pass", async (_what, fault) => {
    rig.netmaker.join("a");
    failOnce(rig, "GET /api/nodes", fault);
    const { applied } = await pass(openProvider(rig));
    expect(applied.created).toBe(1);
  });

  test("that lasts ends the pass, and nothing is deleted", async () => {
    rig.netmaker.join("a");
    const provider = openProvider(rig);
    await pass(provider);
    rig.netmaker.fault = (request) => (request === "GET /api/hosts" ? { code: 502 } : undefined);
    await expect(pass(provider)).rejects.toThrow("GET /api/hosts failed (502: scripted failure)");
    expect(rulesOf(rig)).toHaveLength(1);
  });

  test("of one rule keeps no other from being written or deleted", async () => {
    const names = ["a", "b", "c", "gone"];
    for (const name of names) rig.netmaker.join(name);
    const nodeOf = (name: string) => makeNode(name, { podCidrs: [`10.42.${names.indexOf(name)}.0/24`] });
    const provider = openProvider(rig);
    await pass(provider, [nodeOf("gone")]);
    failOnce(rig, "POST /api/v1/egress", { code: 400 });
    const { applied } = await pass(provider, ["a", "b", "c"].map(nodeOf));
    expect([applied.created, applied.deleted, applied.failures.map(({ message }) => message)]).toEqual([
      2,
      1,
      ["POST /api/v1/egress failed (400: scripted failure)"],
    ]);
    const second = await pass(provider, ["a", "b", "c"].map(nodeOf));
    expect([second.applied.created, rulesOf(rig).length]).toEqual([1, 3]);
  });

  test("of a rule that is to take the place of another keeps that one until it is there", async () => {
    rig.netmaker.join("before");
    rig.netmaker.join("after");
    const provider = openProvider(rig);
    await pass(provider, [makeNode("before")]);
    failOnce(rig, "POST /api/v1/egress", { code: 500 });
    const { applied } = await pass(provider, [makeNode("after")]);
    expect([applied.deleted, rulesOf(rig).map(({ name }) => name)]).toEqual([0, ["before pods (1/1)"]]);
    await pass(provider, [makeNode("after")]);
    expect(rulesOf(rig).map(({ name }) => name)).toEqual(["after pods (1/1)"]);
  });

  test("of every write ends the pass soon", async () => {
    const nodes = Array.from({ length: 100 }, (_, index) =>
      makeNode(`n${index}`, { podCidrs: [`10.42.${index}.0/24`] }),
    );
    for (const { name } of nodes) rig.netmaker.join(name);
    rig.netmaker.fault = (request) => (request.startsWith("POST") ? { code: 500 } : undefined);
    await pass(openProvider(rig), nodes);
    expect(rig.netmaker.writes().length).toBeLessThan(20);
  });
});
