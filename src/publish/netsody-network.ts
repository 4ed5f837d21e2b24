import { z } from "zod";
import {
  contains,
  isNetworkAddress,
  lastAddress,
  type Prefix,
  parseAddress,
  parsePrefix,
  prefixKey,
} from "./prefix.ts";

/** A node of a Netsody network as its file lists it. */
export interface NetsodyNode {
  pk: string;
  ip: string;
  hostname: string;
}

export interface NetsodyNetwork {
  prefix: Prefix;
  nodes: readonly NetsodyNode[];
}

/** One entry that makes addresses reachable: `resource`, or `route` for agents that do not know resources. */
export type EntryTable = "resource" | "route";

const groups = z.array(z.string()).optional();
const entry = z.object({ dest: z.string(), gw: z.string(), groups });
const file = z.object({
  network: z.string(),
  node: z.array(z.object({ pk: z.string(), ip: z.string(), hostname: z.string(), groups })).default([]),
  resource: z.array(entry).default([]),
  route: z.array(entry).default([]),
  policy: z.array(z.record(z.string(), z.unknown())).default([]),
});

/**
 * Reads the file of a network by the rules of its agents, for which one wrong entry makes the whole file worth nothing
 * (https://github.com/netsody/docs.netsody.io, concepts and manually managed networks). Returns what is wrong, or the network.
 */
export function readNetwork(text: string): { network: NetsodyNetwork } | { problem: string } {
  let body: unknown;
  try {
    body = Bun.TOML.parse(text);
  } catch (error) {
    return { problem: `it is not TOML: ${error instanceof Error ? error.message : String(error)}` };
  }
  const parsed = file.safeParse(body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { problem: `${issue?.path.join(".")}: ${issue?.message}` };
  }
  const { network, node: nodes, resource, route } = parsed.data;
  const prefix = parsePrefix(network);
  if (prefix?.family !== 4 || !isNetworkAddress(network)) {
    return {
      problem: `network ${JSON.stringify(network)} is not the address of an IPv4 network, such as 10.182.130.0/24`,
    };
  }
  const problem =
    nodeProblem(nodes, prefix) ?? entryProblem({ resource, route }, new Set(nodes.map(({ pk }) => pk.toLowerCase())));
  return problem === undefined ? { network: { prefix, nodes } } : { problem };
}

function nodeProblem(nodes: readonly NetsodyNode[], network: Prefix): string | undefined {
  const seen = new Set<string>();
  const isTaken = (kind: string, value: string) => seen.size === seen.add(`${kind} ${value}`).size;
  for (const { pk, ip, hostname } of nodes) {
    const name = `node ${JSON.stringify(hostname)}`;
    const address = parseAddress(ip);
    if (!/^[0-9a-f]{64}$/i.test(pk)) return `${name}: pk ${JSON.stringify(pk)} is not 64 hexadecimal digits`;
    if (hostname === "") return `the node with the ip ${ip} has no hostname`;
    if (ip.includes("/") || address?.family !== 4) return `${name}: ip ${JSON.stringify(ip)} is not an IPv4 address`;
    if (!contains(network, address)) return `${name}: ip ${ip} is not inside the network`;
    if (address.network === lastAddress(network)) return `${name}: ip ${ip} is the last address of the network`;
    if (isTaken("pk", pk.toLowerCase())) return `${name}: another node has the same pk`;
    if (isTaken("ip", prefixKey(address))) return `${name}: another node has the same ip ${ip}`;
    if (isTaken("hostname", hostname)) return `${name}: another node has the same hostname`;
  }
  return undefined;
}

const domain = /^(?:\*\.)?(?!-)[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*$/i;

function entryProblem(
  tables: Readonly<Record<EntryTable, readonly z.infer<typeof entry>[]>>,
  gateways: ReadonlySet<string>,
): string | undefined {
  const seen = new Set<string>();
  for (const table of ["resource", "route"] as const) {
    for (const { dest, gw } of tables[table]) {
      const name = `${table} ${JSON.stringify(dest)}`;
      const prefix = parsePrefix(dest);
      const isName = table === "resource" && prefix === undefined && !dest.includes("/") && domain.test(dest);
      if (!isName && (prefix === undefined || !isNetworkAddress(dest))) {
        return `${name}: dest is not the address of a network, such as 10.42.0.0/24`;
      }
      const key = prefix === undefined ? dest.toLowerCase() : prefixKey(prefix);
      if (seen.has(key)) return `${name}: dest stands there twice`;
      seen.add(key);
      if (!gateways.has(gw.toLowerCase())) return `${name}: gw ${JSON.stringify(gw)} is no node of the network`;
    }
  }
  return undefined;
}
