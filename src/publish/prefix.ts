import { isIP } from "node:net";

/** An IP prefix in the one form that compares as text: IPv4 as usual, IPv6 as eight groups in full. */
export interface Prefix {
  family: 4 | 6;
  /** The address with the bits behind the length cleared. */
  network: bigint;
  length: number;
}

const widths = { 4: 32, 6: 128 } as const;

/** Reads `10.1.2.0/24`; without a length it is one address. Bits behind the length are dropped. Undefined when it is neither. */
export function parsePrefix(text: string): Prefix | undefined {
  const [, address = "", digits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text.trim()) ?? [];
  const family = isIP(address);
  if (family !== 4 && family !== 6) {
    return undefined;
  }
  const width = widths[family];
  const length = digits === undefined ? width : Number(digits);
  if (length > width) {
    return undefined;
  }
  return shorten({ family, network: bitsOf(family, address), length: width }, length);
}

/** The network of that length in which it is; the length must not be greater than its own. */
export function shorten({ family, network }: Prefix, length: number): Prefix {
  const host = BigInt(widths[family] - length);
  return { family, network: (network >> host) << host, length };
}

/** Reads an address, also one that is written with the length of its network, as meshes do. */
export function parseAddress(text: string): Prefix | undefined {
  return parsePrefix(text.trim().replace(/\/.*$/, ""));
}

export function samePrefix(one: string, other: string): boolean {
  const [a, b] = [parsePrefix(one), parsePrefix(other)];
  return a !== undefined && b !== undefined && prefixKey(a) === prefixKey(b);
}

export function prefixKey({ family, network, length }: Prefix): string {
  return `${family}:${network.toString(16)}/${length}`;
}

export function contains(outer: Prefix, inner: Prefix): boolean {
  const host = BigInt(widths[outer.family] - outer.length);
  return (
    outer.family === inner.family && inner.length >= outer.length && inner.network >> host === outer.network >> host
  );
}

/** The highest address of a prefix. */
export function lastAddress({ family, network, length }: Prefix): bigint {
  return network | ((1n << BigInt(widths[family] - length)) - 1n);
}

/** Whether the text is a network address with its length, and none of the bits behind it is set. */
export function isNetworkAddress(text: string): boolean {
  const prefix = parsePrefix(text);
  const address = parseAddress(text);
  return text.includes("/") && prefix !== undefined && prefix.network === address?.network;
}

function bitsOf(family: 4 | 6, address: string): bigint {
  if (family === 4) {
    return numberOf(address.split(".").map(Number), 8n);
  }
  // The tail may be written as an IPv4 address (RFC 4291, section 2.2).
  const [, head = "", tail] = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? [undefined, address, undefined];
  const low = tail === undefined ? undefined : bitsOf(4, tail);
  const text = low === undefined ? head : `${head}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`;
  const [left = [], right] = text.split("::").map((half) => half.split(":").filter((group) => group !== ""));
  const missing = right === undefined ? 0 : 8 - left.length - right.length;
  const groups = [...left, ...Array.from({ length: missing }, () => "0"), ...(right ?? [])];
  return numberOf(
    groups.map((group) => Number.parseInt(group, 16)),
    16n,
  );
}

function numberOf(digits: readonly number[], bits: bigint): bigint {
  return digits.reduce((sum, digit) => (sum << bits) | BigInt(digit), 0n);
}
