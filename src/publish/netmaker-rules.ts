import type { Member } from "./netmaker-hosts.ts";

/** An egress rule of a Netmaker network. */
export interface Rule {
  id: string;
  network: string;
  name: string;
  description: string;
  range: string;
  nat: boolean;
  status: boolean;
  /** Metrics by the id of the mesh's node. */
  nodes: Readonly<Record<string, number>>;
}

export type NewRule = Omit<Rule, "id">;

/** What a rule is about, whatever has become of its other fields. */
export interface Identity {
  node: string;
  index: number;
}

export const clusterNamePattern = /^[a-z0-9-]{1,40}$/;
const metric = 500;

/** An identity as a key, together with its network. */
export const identityKey = (network: string, { node, index }: Identity) => `${network}\n${node}\n${index}`;

export function describeRule(cluster: string, { node, index }: Identity): string {
  return `netaminity/${cluster} node=${node} index=${index} (do not edit)`;
}

/** The identity of a rule of this cluster, also when somebody has written something behind it; undefined for all others. */
export function ownIdentity(cluster: string, description: string): Identity | undefined {
  const [, owner, node = "", index = ""] =
    /^netaminity\/([a-z0-9-]{1,40}) node=([a-z0-9.-]{1,253}) index=(\d{1,4})(?= |$)/.exec(description) ?? [];
  return owner === cluster ? { node, index: Number(index) } : undefined;
}

/** What kaput-not says in its rules: whose they are and which of a node's CIDRs, but not which node. */
export function kaputNotIdentity(description: string): { cluster: string | undefined; index: number } | undefined {
  const match = /^Managed by kaput-not \(DO NOT EDIT\): (?:cluster=(\S+) )?index=(\d{1,4})$/.exec(description);
  return match === null ? undefined : { cluster: match[1], index: Number(match[2]) };
}

/** Every rule that a member is to have, by its key. */
export function wantedRules(cluster: string, members: readonly Member[]): Map<string, NewRule> {
  const wanted = new Map<string, NewRule>();
  for (const { node, meshNodes } of members) {
    for (const [network, meshNode] of meshNodes) {
      for (const [index, range] of node.podCidrs.entries()) {
        const identity = { node: node.name, index };
        wanted.set(identityKey(network, identity), {
          network,
          name: `${node.name} pods (${index + 1}/${node.podCidrs.length})`,
          description: describeRule(cluster, identity),
          range,
          nat: false,
          status: true,
          nodes: { [meshNode]: metric },
        });
      }
    }
  }
  return wanted;
}
