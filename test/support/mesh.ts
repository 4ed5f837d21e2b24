import type { KubeNode } from "../../src/publish/kube-node.ts";
import { type MeshHost, type MeshNode, matchHosts } from "../../src/publish/netmaker-hosts.ts";
import { type Plan, type PlanInput, planRules } from "../../src/publish/netmaker-plan.ts";
import type { Rule } from "../../src/publish/netmaker-rules.ts";

// Nodes, hosts and rules, valid by default, and what becomes of the rules when a plan is carried out.

export function makeNode(name: string, given: Partial<KubeNode> = {}): KubeNode {
  return { name, uid: `uid-of-${name}`, annotations: {}, podCidrs: ["10.42.0.0/24"], internalIps: [], ...given };
}

export function makeHost(name: string, given: Partial<MeshHost> = {}): MeshHost {
  return { id: `host-${name}`, name, endpoint: "203.0.113.1", ...given };
}

export function makeMeshNode(host: string, given: Partial<MeshNode> = {}): MeshNode {
  return { id: `node-${host}`, hostId: `host-${host}`, network: "net", addresses: [], pendingDelete: false, ...given };
}

export function makeRule(given: Partial<Rule> = {}): Rule {
  return {
    id: "id-a",
    network: "net",
    name: "a pods (1/1)",
    description: "netaminity/test node=a index=0 (do not edit)",
    range: "10.42.0.0/24",
    nat: false,
    status: true,
    nodes: { "node-a": 500 },
    ...given,
  };
}

/** A pass over Nodes that are hosts of the same names, each in the network `net`. */
export function planFor(nodes: readonly KubeNode[], rules: readonly Rule[], given: Partial<PlanInput> = {}): Plan {
  const hosts = nodes.map(({ name }) => makeHost(name));
  const matched = matchHosts(
    nodes,
    hosts,
    nodes.map(({ name }) => makeMeshNode(name)),
  );
  return planRules({
    cluster: "test",
    ...matched,
    expired: new Set(),
    rules,
    keepAll: false,
    force: false,
    adoptKaputNot: false,
    ...given,
  });
}

/** The rules after the plan; new ones get ids as a server would give them. */
export function carryOut(plan: Plan, rules: readonly Rule[]): Rule[] {
  const gone = new Set(plan.delete.map(({ id }) => id));
  const changed = new Map(plan.update.map(({ rule }) => [rule.id, rule]));
  const made = plan.create.map((rule) => ({ ...rule, id: crypto.randomUUID() }));
  return [...rules.filter(({ id }) => !gone.has(id)).map((rule) => changed.get(rule.id) ?? rule), ...made];
}
