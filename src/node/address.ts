import { isIPv4, isIPv6 } from "node:net";

/** As nftables calls them. */
export type Family = "ip" | "ip6";
export const families: readonly Family[] = ["ip", "ip6"];

/** An IP address: `text` is its one canonical form (RFC 5952 for IPv6). */
export interface Address {
  readonly family: Family;
  readonly value: bigint;
  readonly text: string;
}

/** Addresses from `first` to `last`, both of them included. */
export interface Range {
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
}

const widths: Readonly<Record<Family, number>> = { ip: 32, ip6: 128 };

/** Addresses that were read already: each plan reads the same thousands again, and numbers of this length are slow. */
const known = new Map<string, Address>();
const maxKnown = 16_384;

/** Undefined when the text is no address; one with a zone (`fe80::1%eth0`) is none that others can reach. */
export function parseAddress(text: string): Address | undefined {
  const before = known.get(text);
  if (before !== undefined) {
    return before;
  }
  const address = readAddress(text);
  if (known.size >= maxKnown) known.clear();
  if (address !== undefined) known.set(text, address);
  return address;
}

function readAddress(text: string): Address | undefined {
  if (isIPv4(text)) {
    // What isIPv4 takes is canonical already. As numbers first: this is most of the work with thousands of Services.
    const [a, b, c, d] = text.split(".");
    return { family: "ip", value: BigInt(((Number(a) * 256 + Number(b)) * 256 + Number(c)) * 256 + Number(d)), text };
  }
  return isIPv6(text) && !text.includes("%") ? makeAddress("ip6", ipv6Value(text)) : undefined;
}

/** `ADDRESS/BITS` or one address; undefined when the text is neither. Bits of the host are cut off, as everybody does. */
export function parseCidr(text: string): Range | undefined {
  const [head = "", bits, ...others] = text.split("/");
  const address = parseAddress(head);
  if (address === undefined || others.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) {
    return undefined;
  }
  const width = widths[address.family];
  const length = bits === undefined ? width : Number(bits);
  if (length > width) {
    return undefined;
  }
  const size = 1n << BigInt(width - length);
  const first = address.value - (address.value % size);
  return { family: address.family, first, last: first + size - 1n };
}

/** Ranges of both families. */
export function parseCidrs(texts: readonly string[]): Range[] {
  return texts.flatMap((text) => parseCidr(text) ?? []);
}

export function rangeOf({ family, value }: Address): Range {
  return { family, first: value, last: value };
}

export function isWithin({ family, value }: Address, ranges: readonly Range[]): boolean {
  return ranges.some((range) => range.family === family && range.first <= value && value <= range.last);
}

/** The same addresses of one family as the fewest ranges, in order: nftables refuses intervals that overlap. */
export function mergeRanges(ranges: readonly Range[], family: Family): Range[] {
  const own = ranges.filter((range) => range.family === family);
  const sorted = own.toSorted((left, right) => (left.first < right.first ? -1 : left.first > right.first ? 1 : 0));
  const merged: Range[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last === undefined || range.first > last.last + 1n) {
      merged.push(range);
    } else if (range.last > last.last) {
      merged[merged.length - 1] = { ...last, last: range.last };
    }
  }
  return merged;
}

export function makeAddress(family: Family, value: bigint): Address {
  return { family, value, text: family === "ip" ? ipv4Text(value) : ipv6Text(value) };
}

export function compareAddresses(left: Address, right: Address): number {
  return left.value < right.value ? -1 : left.value > right.value ? 1 : 0;
}

const notRoutable: readonly Range[] = parseCidrs([
  "0.0.0.0/8",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "224.0.0.0/4",
  "255.255.255.255",
  "::/127",
  "fe80::/10",
  "ff00::/8",
]);

/** Whether an address can belong to one machine and be reached from another: not the unspecified one, loopback, link-local, multicast or broadcast. */
export function isRoutable(address: Address): boolean {
  return !isWithin(address, notRoutable);
}

function ipv4Text(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
}

function ipv6Value(text: string): bigint {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const plain = dotted === null ? text : `${dotted[1]}${dottedAsGroups(dotted[2] ?? "")}`;
  const [left = "", right] = plain.split("::");
  const groupsOf = (part: string) => (part === "" ? [] : part.split(":"));
  const [head, tail] = [groupsOf(left), right === undefined ? [] : groupsOf(right)];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => "0");
  return [...head, ...zeros, ...tail].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

function dottedAsGroups(dotted: string): string {
  const value = parseAddress(dotted)?.value ?? 0n;
  return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
}

function ipv6Text(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - index * 16)) & 0xffffn).toString(16));
  let [longest, length] = [-1, 1];
  for (let start = 0; start < 8; start += 1) {
    let end = start;
    while (groups[end] === "0") end += 1;
    if (end - start > length) [longest, length] = [start, end - start];
  }
  if (longest < 0) {
    return groups.join(":");
  }
  return `${groups.slice(0, longest).join(":")}::${groups.slice(longest + length).join(":")}`;
}
