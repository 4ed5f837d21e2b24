import type { Family } from "./address.ts";

/** A table as it is wanted, or as the kernel has it: what decides whether two are the same. */
export interface Table {
  family: Family;
  name: string;
  sets: readonly NamedSet[];
  chains: readonly Chain[];
}

/** `key` and `value` are what nftables calls types; several make a concatenation. */
export interface NamedSet {
  name: string;
  key: readonly string[];
  /** Only a map has one. */
  value?: string;
  /** Ranges of addresses: never changed one by one, since what overlaps cannot be changed in one transaction. */
  isInterval?: true;
  /** The members by text: parts of a concatenation apart by a blank, `first-last` for a range; the value is empty in a set. */
  elements: ReadonlyMap<string, string>;
}

export interface Chain {
  name: string;
  type: "nat" | "filter";
  hook: string;
  /** A number: nft 1.0.6 refuses the names of priorities in the output hook. */
  priority: number;
  rules: readonly Rule[];
}

/** Expressions in nftables' JSON (libnftables-json(5)). */
export type Rule = readonly unknown[];

const protocolOf: Readonly<Record<Family, string>> = { ip: "ip", ip6: "ip6" };
export const addressType: Readonly<Record<Family, string>> = { ip: "ipv4_addr", ip6: "ipv6_addr" };
export const icmpOf: Readonly<Record<Family, string>> = { ip: "icmp", ip6: "ipv6-icmp" };

const match = (left: unknown, right: unknown, op = "==") => ({ match: { op, left, right } });
const concat = (...parts: unknown[]) => ({ concat: parts });
const lookup = (key: unknown, name: string) => ({ addr: { map: { key, data: `@${name}` } } });

/** The words of which the rules of a family consist. */
export function expressions(family: Family) {
  const protocol = protocolOf[family];
  const source = { payload: { protocol, field: "saddr" } };
  const destination = { payload: { protocol, field: "daddr" } };
  const original = { ct: { key: `${protocol} daddr`, dir: "original" } };
  const layer4 = { meta: { key: "l4proto" } };
  return {
    sourceIn: (name: string) => match(source, `@${name}`),
    sourceNotIn: (name: string) => match(source, `@${name}`, "!="),
    destinationIn: (name: string) => match(destination, `@${name}`),
    destinationNotIn: (name: string) => match(destination, `@${name}`, "!="),
    pairIn: (name: string) => match(concat(source, destination), `@${name}`),
    /** Where the connection's first packet was sent to, before it was led elsewhere. */
    originalIn: (name: string) => match(original, `@${name}`),
    /** With the port as it is now, which is the original one here: `ct original proto-dst` cannot be part of a concatenation (nft 1.0.6). */
    originalPortIn: (name: string) =>
      match(concat(original, layer4, { payload: { protocol: "th", field: "dport" } }), `@${name}`),
    isIcmp: match(layer4, icmpOf[family]),
    isKnown: match({ ct: { key: "state" } }, ["established", "related"], "in"),
    leavesBy: (name: string) => match({ meta: { key: "oifname" } }, `@${name}`),
    dnatBy: (name: string) => ({ dnat: lookup(destination, name) }),
    snatBy: (name: string) => ({ snat: lookup(source, name) }),
    masquerade: { masquerade: null },
    accept: { accept: null },
    drop: { drop: null },
  };
}

/** A set without values. */
export const members = (keys: Iterable<string>): ReadonlyMap<string, string> =>
  new Map([...keys].map((key) => [key, ""]));
