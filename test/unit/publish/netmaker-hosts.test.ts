import { describe, expect, test } from "bun:test";
import { annotations, keepNode } from "../../../src/publish/kube-node.ts";
import { leakedEndpoints, matchHosts } from "../../../src/publish/netmaker-hosts.ts";
import { makeHost, makeMeshNode, makeNode } from "../../support/mesh.ts";

const meshNodeOf = (matched: ReturnType<typeof matchHosts>) =>
  matched.members.map(({ node, meshNodes }) => [node.name, Object.fromEntries(meshNodes)]);

describe("the host of a Node is", () => {
  test("the one that its annotation names, by name or id, whatever else would fit", () => {
    const hosts = [makeHost("a"), makeHost("x"), makeHost("y")];
    const nodes = ["a", "x", "y"].map((name) => makeMeshNode(name));
    const by = (value: string) =>
      matchHosts([makeNode("a", { annotations: { [annotations.meshHost]: value } })], hosts, nodes);
    expect(meshNodeOf(by("x"))).toEqual([["a", { net: "node-x" }]]);
    expect(meshNodeOf(by("host-y"))).toEqual([["a", { net: "node-y" }]]);
    expect(by("z").pending.map(({ reason, message }) => [reason, message])).toEqual([
      [
        "NoMeshHost",
        "no host of the mesh is called z or has that id, as its annotation netaminity.exeteres.net/mesh-host says",
      ],
    ]);
  });

  test("the one of the same name, before one of its first label", () => {
    const hosts = [makeHost("a.example.com"), makeHost("a")];
    const nodes = [makeMeshNode("a.example.com"), makeMeshNode("a")];
    expect(meshNodeOf(matchHosts([makeNode("a.example.com")], hosts, nodes))).toEqual([
      ["a.example.com", { net: "node-a.example.com" }],
    ]);
    expect(meshNodeOf(matchHosts([makeNode("a.example.com")], hosts.slice(1), nodes))).toEqual([
      ["a.example.com", { net: "node-a" }],
    ]);
  });

  test("the one that has its InternalIP in a mesh, however the mesh writes it", () => {
    const node = makeNode("a", { internalIps: ["100.64.0.7", "fd00::7"] });
    const found = (addresses: string[]) => matchHosts([node], [makeHost("x")], [makeMeshNode("x", { addresses })]);
    expect(meshNodeOf(found(["100.64.0.7/16"]))).toEqual([["a", { net: "node-x" }]]);
    expect(meshNodeOf(found(["fd00:0:0::7"]))).toEqual([["a", { net: "node-x" }]]);
    expect(found(["100.64.0.8/16"]).pending.map(({ reason }) => reason)).toEqual(["NoMeshHost"]);
  });

  test("with all networks that it is in, but none that it is leaving", () => {
    const nodes = [
      makeMeshNode("a"),
      makeMeshNode("a", { id: "second", network: "other" }),
      makeMeshNode("a", { id: "third", network: "left", pendingDelete: true }),
    ];
    expect(meshNodeOf(matchHosts([makeNode("a")], [makeHost("a")], nodes))).toEqual([
      ["a", { net: "node-a", other: "second" }],
    ]);
  });
});

describe("a Node is pending when", () => {
  test("it has no pod CIDR", () => {
    const { pending } = matchHosts([makeNode("a", { podCidrs: [] })], [makeHost("a")], [makeMeshNode("a")]);
    expect(pending.map(({ reason }) => reason)).toEqual(["NoPodCidr"]);
  });

  test("its host is in no network", () => {
    const { pending } = matchHosts([makeNode("a")], [makeHost("a")], []);
    expect(pending.map(({ message }) => message)).toEqual(["the host a is in no network of the mesh now"]);
  });

  test("two hosts have its name", () => {
    const hosts = [makeHost("a"), makeHost("a", { id: "another" })];
    const { pending, members } = matchHosts([makeNode("a")], hosts, [makeMeshNode("a")]);
    expect(members).toEqual([]);
    expect(pending.map(({ reason, message }) => [reason, message])).toEqual([
      [
        "AmbiguousMeshHost",
        "several hosts of the mesh could be this Node: a (host-a) and a (another); annotate it with netaminity.exeteres.net/mesh-host=ID",
      ],
    ]);
  });

  test("another Node has the same host", () => {
    const nodes = [makeNode("a.one"), makeNode("a.two"), makeNode("b")];
    const { pending, members } = matchHosts(
      nodes,
      [makeHost("a"), makeHost("b")],
      [makeMeshNode("a"), makeMeshNode("b")],
    );
    expect(members.map(({ node }) => node.name)).toEqual(["b"]);
    expect(pending.map(({ node, reason }) => [node.name, reason])).toEqual([
      ["a.one", "AmbiguousMeshHost"],
      ["a.two", "AmbiguousMeshHost"],
    ]);
  });
});

test("endpoints inside a pod CIDR are found", () => {
  const hosts = [makeHost("good"), makeHost("bad", { endpoint: "10.42.0.3" }), makeHost("none", { endpoint: "" })];
  expect(leakedEndpoints([makeNode("a")], hosts).map(({ host, cidr }) => [host.name, cidr])).toEqual([
    ["bad", "10.42.0.0/24"],
  ]);
});

test("of a Node only what a pass needs is kept", () => {
  const kept = keepNode({
    metadata: {
      name: "a",
      uid: "u",
      resourceVersion: "7",
      annotations: { [annotations.netsodyPk]: "p", other: "x" },
    },
    spec: { podCIDR: "10.42.0.0/24", podCIDRs: ["10.42.0.0/24", "fd00::/64"] },
    status: {
      addresses: [
        { type: "Hostname", address: "a" },
        { type: "InternalIP", address: "10.0.0.1" },
      ],
    },
  } as Parameters<typeof keepNode>[0]);
  expect(kept).toEqual({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "a", uid: "u", resourceVersion: "7" },
    node: {
      name: "a",
      uid: "u",
      annotations: { [annotations.netsodyPk]: "p" },
      podCidrs: ["10.42.0.0/24", "fd00::/64"],
      internalIps: ["10.0.0.1"],
    },
  });
});
