import { describe } from "bun:test";
import { answers, type Case, isSilent, newPod, pod, ready, testCases } from "../../support/active-pod.ts";
import { makeNode } from "../../support/objects.ts";

const a = pod("a");
const b = pod("b");

const cases: Record<string, Case> = {
  "the first choice is on a node without another pair's active pod": {
    pods: [a, pod("b", { node: "n2" })],
    nodes: [makeNode("n1"), makeNode("n2")],
    taken: ["n1"],
    active: "b",
  },
  "where every node has one, one of them": {
    pods: [a, pod("b", { node: "n2" })],
    nodes: [makeNode("n1"), makeNode("n2")],
    taken: ["n1", "n2"],
    active: "a",
  },
  "the current pod makes room for a standby elsewhere, though it serves": {
    pods: [pod("a", ready), pod("b", { node: "n2" })],
    current: "a",
    newest: "r1",
    nodes: [makeNode("n1"), makeNode("n2")],
    taken: ["n1"],
    active: "b",
    because: "is on one node with the active pod of another pair",
  },
  "not for one that does not answer while it does itself": {
    pods: [pod("a", ready), pod("b", { node: "n2" })],
    current: "a",
    newest: "r1",
    nodes: [makeNode("n1"), makeNode("n2")],
    taken: ["n1"],
    probes: [answers(a), isSilent(b, 1)],
    active: "a",
  },
  "not for one of an older revision": {
    pods: [newPod("a", ready), pod("b", { node: "n2" })],
    current: "a",
    newest: "r2",
    nodes: [makeNode("n1"), makeNode("n2")],
    taken: ["n1"],
    active: "a",
  },
  "not for one on a node that is taken too, or not ready": {
    pods: [pod("a", ready), pod("b", { node: "n2" }), pod("c", { node: "n3" })],
    current: "a",
    newest: "r1",
    nodes: [makeNode("n1"), makeNode("n2"), makeNode("n3", "Unknown")],
    taken: ["n1", "n2"],
    active: "a",
  },
  "a lost pod's standby on a taken node is better than none": {
    pods: [pod("a", { ready: true, node: "n2" }), b],
    current: "a",
    nodes: [makeNode("n1"), makeNode("n2", "Unknown")],
    taken: ["n1"],
    active: "b",
    because: "is on a node that is not ready",
  },
};

describe("pairs of one Tunnel on different nodes", () => testCases(cases));
