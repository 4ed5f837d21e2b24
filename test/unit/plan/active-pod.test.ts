import { describe } from "bun:test";
import { answers, type Case, isSilent, newPod, pod, ready, stopped, testCases } from "../../support/active-pod.ts";
import { makeNode } from "../../support/objects.ts";

const a = pod("a");
const b = pod("b");

const cases: Record<string, Case> = {
  // The first choice.
  "no pods: nobody": { pods: [], active: undefined },
  "one live pod, nothing chosen yet: that pod": { pods: [a], active: "a" },
  "pods that do not run yet: nobody": {
    pods: [pod("a", { state: { waiting: {} }, phase: "Pending" })],
    active: undefined,
  },
  "a pod without an address yet: nobody": { pods: [pod("a", { ips: [] })], active: undefined },
  "two live pods: the older": { pods: [a, b], active: "a" },
  "a pod that carries a session goes before an older one": { pods: [a, pod("b", ready)], active: "b" },
  "a pod that answers goes before an older one": { pods: [a, b], probes: [answers(b)], active: "b" },
  "a pod of the newest revision goes before one that carries a session": {
    pods: [pod("a", ready), newPod("b")],
    newest: "r2",
    active: "b",
  },
  "a pod that is silent goes last": { pods: [newPod("a"), b], newest: "r2", probes: [isSilent(a)], active: "b" },
  "all are silent: still one of them": { pods: [a, b], probes: [isSilent(a), isSilent(b)], active: "a" },

  // What does not move it.
  "the current pod is kept though another is older": { pods: [a, b], current: "b", active: "b" },
  "the current pod is kept though another is ready": { pods: [a, pod("b", ready)], current: "a", active: "a" },
  "the current pod is kept when the newest revision has no live pod": {
    pods: [a, newPod("b", { state: stopped })],
    current: "a",
    newest: "r2",
    active: "a",
  },
  "the current pod is kept while no revision is known": { pods: [a, b], current: "a", active: "a" },
  "a current pod whose container was not recorded is kept": { pods: [a, b], current: "a", container: "", active: "a" },
  "nothing is known about nodes: they count as ready": { pods: [a, b], current: "a", nodes: undefined, active: "a" },

  // Kubernetes' own signals.
  "the current pod is gone: a standby": { pods: [b], current: "a", active: "b", because: "is gone" },
  "the current pod was evicted: a standby": {
    pods: [pod("a", { phase: "Failed", state: { terminated: { exitCode: 137 } } }), b],
    current: "a",
    active: "b",
    because: "is gone",
  },
  "the current pod is being deleted: a standby": {
    pods: [pod("a", { deleting: true, ready: true }), b],
    current: "a",
    active: "b",
    because: "is being deleted",
  },
  "its agent stopped: a standby": {
    pods: [pod("a", { state: stopped }), b],
    current: "a",
    active: "b",
    because: "does not run any more",
  },
  "its agent ended and is not started again yet: a standby": {
    pods: [pod("a", { state: { terminated: { exitCode: 1 } } }), b],
    current: "a",
    active: "b",
    because: "does not run any more",
  },
  "its agent was restarted: a standby": {
    pods: [pod("a", { containerId: "a-2" }), b],
    current: "a",
    active: "b",
    because: "was restarted",
  },
  "its node is not ready: a standby on another node": {
    pods: [pod("a", ready), pod("b", { node: "n2" })],
    current: "a",
    nodes: [makeNode("n1", "Unknown"), makeNode("n2")],
    active: "b",
    because: "is on a node that is not ready",
  },
  "its node was removed: a standby on another node": {
    pods: [a, pod("b", { node: "n2" })],
    current: "a",
    nodes: [makeNode("n2")],
    active: "b",
    because: "is on a node that is not ready",
  },
  "the newest revision has a live pod: that one, though the current one serves": {
    pods: [pod("a", ready), newPod("b")],
    current: "a",
    newest: "r2",
    active: "b",
    because: "is of an older revision",
  },
  "after a rollback the older template is the newest revision": {
    pods: [newPod("a", ready), b],
    current: "a",
    newest: "r1",
    active: "b",
    because: "is of an older revision",
  },

  // Nobody can take over.
  "its agent stopped and there is no standby: it may come back": {
    pods: [pod("a", { state: stopped })],
    current: "a",
    active: "a",
  },
  "its agent was restarted and there is no standby: it stays": {
    pods: [pod("a", { containerId: "a-2" })],
    current: "a",
    active: "a",
  },
  "its node is not ready and the standby is on it too: it stays": {
    pods: [a, b],
    current: "a",
    nodes: [makeNode("n1", "False")],
    active: "a",
  },
  "it is being deleted and there is no standby: nobody": {
    pods: [pod("a", { deleting: true })],
    current: "a",
    active: undefined,
    because: "is being deleted",
  },
  "it is gone and the standby is being deleted: nobody": {
    pods: [pod("b", { deleting: true })],
    current: "a",
    active: undefined,
    because: "is gone",
  },
  "its agent stopped and the standby does not run either: it stays": {
    pods: [pod("a", { state: stopped }), pod("b", { state: stopped })],
    current: "a",
    active: "a",
  },

  // The operator's own probes.
  "it failed three probes and a standby answers: the standby": {
    pods: [pod("a", ready), b],
    current: "a",
    probes: [isSilent(a), answers(b)],
    active: "b",
    because: "does not answer any more",
  },
  "it failed two probes: it stays": {
    pods: [pod("a", ready), b],
    current: "a",
    probes: [isSilent(a, 2), answers(b)],
    active: "a",
  },
  "it failed three probes and no standby answers: no evidence, it stays": {
    pods: [pod("a", ready), b],
    current: "a",
    probes: [isSilent(a), isSilent(b)],
    active: "a",
  },
  "it failed three probes and the standby was never probed: it stays": {
    pods: [pod("a", ready), b],
    current: "a",
    probes: [isSilent(a)],
    active: "a",
  },
  "of two standbys the one that answers takes over": {
    pods: [pod("a", ready), b, pod("c")],
    current: "a",
    probes: [isSilent(a), isSilent(b), answers(pod("c"))],
    active: "c",
    because: "does not answer any more",
  },
  "it failed three probes and only a pod that does not run answered: it stays": {
    pods: [pod("a", ready), pod("b", { state: stopped })],
    current: "a",
    probes: [isSilent(a), answers(b)],
    active: "a",
  },
  "a rollout goes on where the operator reaches no pod at all": {
    pods: [pod("a", ready), newPod("b")],
    current: "a",
    newest: "r2",
    probes: [isSilent(a), isSilent(b)],
    active: "b",
    because: "is of an older revision",
  },
  "a rollout waits for a new pod that does not answer yet while the old one does": {
    pods: [pod("a", ready), newPod("b")],
    current: "a",
    newest: "r2",
    probes: [answers(a), isSilent(b, 1)],
    active: "a",
  },

  // Pods that swallow consumers.
  "the lost pod is deleted once the standby carries the session": {
    pods: [pod("a", ready), pod("b", ready)],
    current: "b",
    probes: [isSilent(a), answers(b)],
    active: "b",
    deleted: ["a"],
  },
  "the lost pod stays while the standby carries no session yet": {
    pods: [pod("a", ready), b],
    current: "b",
    probes: [isSilent(a), answers(b)],
    active: "b",
  },
  "the lost pod stays while the new one does not answer the operator": {
    pods: [pod("a", ready), pod("b", ready)],
    current: "b",
    probes: [isSilent(a), isSilent(b, 1)],
    active: "b",
  },
  "a pod that answers again stays": {
    pods: [pod("a", ready), pod("b", ready)],
    current: "b",
    probes: [answers(a), answers(b)],
    active: "b",
  },
  "a silent standby stays: no consumer is sent to it": {
    pods: [a, pod("b", ready)],
    current: "b",
    probes: [isSilent(a), answers(b)],
    active: "b",
  },
  "a lost pod that is being deleted already is not deleted again": {
    pods: [pod("a", { ready: true, deleting: true }), pod("b", ready)],
    current: "b",
    probes: [isSilent(a), answers(b)],
    active: "b",
  },
};

describe("the active pod", () => testCases(cases));
