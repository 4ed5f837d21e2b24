import { annotations, type KubeNode, type Pending } from "./kube-node.ts";
import type { EntryTable, NetsodyNetwork, NetsodyNode } from "./netsody-network.ts";
import { parseAddress, parsePrefix, prefixKey } from "./prefix.ts";

/** One pod CIDR behind one node of the network, and whose it is. */
export interface Entry {
  node: string;
  index: number;
  dest: string;
  gw: string;
}

export interface NetsodyInput {
  network: NetsodyNetwork;
  nodes: readonly KubeNode[];
  /** What was published before. */
  published: readonly Entry[];
  /** Names of Nodes that have been pending for so long that their entries go. */
  expired: ReadonlySet<string>;
  force: boolean;
}

export interface NetsodyPlan {
  /** What is to be published, in the order of the file. */
  entries: Entry[];
  created: Entry[];
  updated: Entry[];
  deleted: Entry[];
  held: Entry[];
  refused: Entry[];
  /** IPv6 CIDRs, which agents cannot take. */
  leftOut: { node: string; cidr: string }[];
}

const alwaysAllowed = 5;
const keyOf = ({ node, index }: Pick<Entry, "node" | "index">) => `${node}\n${index}`;

/** Which node of the network each Node is: as its annotation says, else by host name, else by InternalIP. */
export function matchNodes(nodes: readonly KubeNode[], network: NetsodyNetwork) {
  const byPk = new Map(network.nodes.map((node) => [node.pk.toLowerCase(), node]));
  const byHostname = new Map(network.nodes.map((node) => [node.hostname, node]));
  const byIp = new Map(network.nodes.map((node) => [addressKey(node.ip), node]));
  const find = ({ name, annotations: given, internalIps }: KubeNode): NetsodyNode | undefined => {
    const pk = given[annotations.netsodyPk];
    if (pk !== undefined) return byPk.get(pk.toLowerCase());
    return (
      byHostname.get(name) ?? internalIps.map((ip) => byIp.get(addressKey(ip))).find((found) => found !== undefined)
    );
  };
  const found = nodes.map((node) => ({ node, gateway: find(node) }));
  const claims = Map.groupBy(found, ({ gateway }) => gateway?.pk);
  const members: { node: KubeNode; gw: string }[] = [];
  const pending: Pending[] = [];
  for (const { node, gateway } of found) {
    const rivals = claims.get(gateway?.pk)?.filter((claim) => claim.node !== node) ?? [];
    if (node.podCidrs.length === 0) {
      const message = "the Node has no pod CIDR (spec.podCIDRs) yet, so there is nothing to publish";
      pending.push({ node, reason: "NoPodCidr", message });
    } else if (gateway === undefined) {
      pending.push({ node, reason: "NoMeshHost", message: noGateway(node) });
    } else if (rivals.length > 0) {
      const others = rivals.map((rival) => rival.node.name).join(" and ");
      const message = `the node ${gateway.hostname} of the network could also be the Node ${others}; annotate both with ${annotations.netsodyPk}`;
      pending.push({ node, reason: "AmbiguousMeshHost", message });
    } else {
      members.push({ node, gw: gateway.pk });
    }
  }
  return { members, pending };
}

function addressKey(text: string): string {
  const address = parseAddress(text);
  return address === undefined ? text : prefixKey(address);
}

function noGateway({ name, annotations: given }: KubeNode): string {
  return given[annotations.netsodyPk] === undefined
    ? `no [[node]] of the network has the hostname ${name} or an address of this Node; annotate it with ${annotations.netsodyPk}=PK`
    : `no [[node]] of the network has the pk that the annotation ${annotations.netsodyPk} names`;
}

/** What is to be published; entries of pending Nodes and deletions that are too many at once stay. */
export function planEntries(input: NetsodyInput, { members, pending }: ReturnType<typeof matchNodes>): NetsodyPlan {
  const plan: NetsodyPlan = { entries: [], created: [], updated: [], deleted: [], held: [], refused: [], leftOut: [] };
  const before = new Map(input.published.map((entry) => [keyOf(entry), entry]));
  const wanted: Entry[] = [];
  for (const { node, gw } of members) {
    for (const [index, cidr] of node.podCidrs.entries()) {
      if (parsePrefix(cidr)?.family === 4) {
        wanted.push({ node: node.name, index, dest: cidr, gw });
      } else {
        plan.leftOut.push({ node: node.name, cidr });
      }
    }
  }
  for (const entry of wanted) {
    const known = before.get(keyOf(entry));
    before.delete(keyOf(entry));
    if (known === undefined) {
      plan.created.push(entry);
    } else if (known.dest !== entry.dest || known.gw !== entry.gw) {
      plan.updated.push(entry);
    }
  }
  const kept = new Set(pending.map(({ node }) => node.name).filter((name) => !input.expired.has(name)));
  const gateways = new Set(input.network.nodes.map(({ pk }) => pk));
  const taken = new Set(wanted.map(({ dest }) => dest));
  // An entry that the file could not hold any more would make all of it worth nothing.
  const canStay = ({ gw, dest }: Entry) => gateways.has(gw) && !taken.has(dest);
  const unwanted: Entry[] = [];
  for (const entry of before.values()) {
    const isKept = input.nodes.length === 0 || kept.has(entry.node);
    (isKept && canStay(entry) ? plan.held : unwanted).push(entry);
  }
  const allowed = input.force ? Number.POSITIVE_INFINITY : Math.max(alwaysAllowed, input.published.length / 2);
  plan.refused = unwanted.length > allowed ? unwanted.filter(canStay) : [];
  plan.deleted = unwanted.filter((entry) => !plan.refused.includes(entry));
  plan.entries = [...wanted, ...plan.held, ...plan.refused].sort((a, b) =>
    a.node < b.node ? -1 : a.node > b.node ? 1 : a.index - b.index,
  );
  return plan;
}

const marker =
  "# Pod CIDRs of Kubernetes Nodes, written by netaminity publish. What is changed from here on is put back.";

/** The base with an entry for each pod CIDR behind it. */
export function writeNetwork(
  base: string,
  entries: readonly Entry[],
  { table, groups }: { table: EntryTable; groups: readonly string[] },
): string {
  const blocks = entries.map(({ node, index, dest, gw }) =>
    [
      `[[${table}]] # node=${node} index=${index}`,
      `dest = ${JSON.stringify(dest)}`,
      `gw = ${JSON.stringify(gw)}`,
      ...(groups.length === 0 ? [] : [`groups = [${groups.map((group) => JSON.stringify(group)).join(", ")}]`]),
      "",
    ].join("\n"),
  );
  return `${base.trimEnd()}\n\n${[marker, ...blocks].join("\n")}`;
}

/** The entries that stand behind the base in a file that `writeNetwork` has written. */
export function publishedEntries(text: string): Entry[] {
  const [, written = ""] = text.split(marker);
  const pattern = /^\[\[(?:resource|route)\]\] # node=(\S+) index=(\d+)\ndest = "([^"]*)"\ngw = "([^"]*)"$/gm;
  return [...written.matchAll(pattern)].map(([, node = "", index = "", dest = "", gw = ""]) => ({
    node,
    index: Number(index),
    dest,
    gw,
  }));
}
