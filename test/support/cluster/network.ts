/** The node network: a bridge in the root namespace, one namespace per node, routes, and the one-way firewall. */
import { addressesOf, everyClustersRanges, guestAddress } from "./addresses.ts";
import { run as runCommand } from "./command.ts";
import { bridgeName, type NodePlan } from "./node-plan.ts";
import type { Run } from "./run-folder.ts";

/** A command as it has to be to run in a node's network namespace (and in the mount namespace of everything else). */
export function inNamespace(node: NodePlan, command: readonly string[]): string[] {
  return ["nsenter", `--net=/run/netns/${node.namespace}`, "--", ...command];
}

/** Loads a rule set in a node's namespace. */
export async function nft(node: NodePlan, rules: string): Promise<void> {
  await runCommand(inNamespace(node, ["nft", "-f", "-"]), { input: rules });
}

/** Several `ip` commands, one a line, in one process; in a node's namespace when one is given. */
async function ip(commands: readonly string[], node?: NodePlan): Promise<void> {
  const where = node === undefined ? [] : ["-n", node.namespace];
  await runCommand(["ip", ...where, "-batch", "-"], { input: `${commands.join("\n")}\n` });
}

export async function createNetwork(run: Run, nodes: readonly NodePlan[]): Promise<void> {
  const addresses = addressesOf(run.index, true);
  const bridge = bridgeName(run);
  await ip([
    `link add ${bridge} type bridge`,
    `addr add ${addresses.bridge}/24 dev ${bridge}`,
    `link set ${bridge} up`,
    ...nodes.flatMap((node) => [
      `netns add ${node.namespace}`,
      `link add ${node.link} type veth peer name eth0 netns ${node.namespace}`,
      `link set ${node.link} master ${bridge} up`,
    ]),
    // The API server and tests on this machine reach cloud pods as anything near the cloud would.
    ...cloudNodes(nodes).map((node) => `route add ${node.podCidr} via ${node.address}`),
    ...loadBalancerRoute(run, nodes),
  ]);
  await Promise.all(nodes.map((node) => configureNode(run, node, nodes)));
}

async function configureNode(run: Run, node: NodePlan, nodes: readonly NodePlan[]): Promise<void> {
  const addresses = addressesOf(run.index, true);
  await ip(
    [
      "link set lo up",
      `addr add ${node.address}/24 dev eth0`,
      "link set eth0 up",
      `route add default via ${addresses.bridge}`,
      ...everyClustersRanges.map((range) => `route add blackhole ${range}`),
      // Nobody outside a private node knows the way to its pods.
      ...cloudNodes(nodes)
        .filter((other) => other.name !== node.name)
        .map((other) => `route add ${other.podCidr} via ${other.address}`),
      ...(node.kind === "private" ? loadBalancerRoute(run, nodes) : [`route add ${addresses.loadBalancerCidr} dev lo`]),
    ],
    node,
  );
  const settings = ["ip_forward=1", "conf/all/rp_filter=0", "conf/default/rp_filter=0"].map((each) => {
    const [path, value] = each.split("=");
    return `echo ${value} > /proc/sys/net/ipv4/${path}`;
  });
  await runCommand(inNamespace(node, ["sh", "-ec", settings.join("\n")]));
  if (node.kind === "private") await nft(node, oneWayRules("uplink", "eth0"));
}

/** Replies pass, new connections that come in on the interface do not, and what leaves by it hides behind its address. */
function oneWayRules(table: string, device: string): string {
  return `table inet ${table} {
    chain to_node { type filter hook input priority 0; iifname "${device}" ct state new counter drop; }
    chain to_pods { type filter hook forward priority 0; iifname "${device}" ct state new counter drop; }
    chain leaving { type nat hook postrouting priority 100; oifname "${device}" masquerade; }
  }`;
}

function cloudNodes(nodes: readonly NodePlan[]): NodePlan[] {
  return nodes.filter((node) => node.kind === "cloud");
}

function loadBalancerRoute(run: Run, nodes: readonly NodePlan[]): string[] {
  const [first] = cloudNodes(nodes);
  return first === undefined ? [] : [`route add ${addressesOf(run.index, true).loadBalancerCidr} via ${first.address}`];
}

export interface JoinSide {
  readonly run: Run;
  readonly nodes: readonly NodePlan[];
}

/**
 * Gives every node of one cluster a second interface on the other's node network: it and its pods can open connections
 * to the other's nodes, NodePorts and load balancer addresses; nothing can be opened the other way.
 */
export async function joinOutbound(from: JoinSide, to: JoinSide, firstGuest: number): Promise<void> {
  const bridge = bridgeName(to.run);
  for (const [position, node] of from.nodes.entries()) {
    const link = `${node.link}-${to.run.index}`;
    await ip([
      `link add ${link} type veth peer name eth1 netns ${node.namespace}`,
      `link set ${link} master ${bridge} up`,
    ]);
    const address = guestAddress(to.run.index, firstGuest + position);
    await ip([`addr add ${address}/24 dev eth1`, "link set eth1 up", ...loadBalancerRoute(to.run, to.nodes)], node);
    await nft(node, oneWayRules("joined", "eth1"));
  }
}

export async function setLink(node: NodePlan, state: "up" | "down"): Promise<void> {
  // The root namespace's end: a link that goes down inside the namespace would take the node's routes with it.
  await runCommand(["ip", "link", "set", node.link, state]);
}
