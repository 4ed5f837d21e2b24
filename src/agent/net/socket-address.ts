import { ptr } from "bun:ffi";
import { isIPv4, isIPv6 } from "node:net";
import type { HostPort } from "../../endpoint.ts";
import { libc } from "./libc.ts";

/** Numbers of Linux (bits/socket.h). */
const AF_INET = 2;
const AF_INET6 = 10;

/** The system's form of a numeric address and a port: struct sockaddr_in or sockaddr_in6 of a little-endian machine; undefined for names and addresses with a zone. */
export function sockaddr(address: string, port: number): Uint8Array | undefined {
  if (isIPv4(address)) return fill(16, AF_INET, port, 4, address.split(".").map(Number));
  if (isIPv6(address) && !address.includes("%")) return fill(28, AF_INET6, port, 8, ipv6Bytes(address));
  return undefined;
}

function fill(size: number, family: number, port: number, at: number, address: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, family, true);
  view.setUint16(2, port);
  bytes.set(address, at);
  return bytes;
}

function ipv6Bytes(address: string): number[] {
  const [head = "", tail] = address.split("::");
  const front = groups(head);
  const back = groups(tail ?? "");
  return [...front, ...Array.from({ length: 16 - front.length - back.length }, () => 0), ...back];
}

function groups(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (group.includes(".")) return group.split(".").map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

/** Stands for the address of a peer that had gone before anybody asked for it. */
export const unknownHost = "unknown";

/** An IPv4 peer of a listener on `::` appears as `::ffff:a.b.c.d`. */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return unknownHost;
  return address.startsWith("::ffff:") && isIPv4(address.slice(7)) ? address.slice(7) : address;
}

const ending = new Uint8Array(28);
const endingSize = new Uint32Array(1);
/** First 12 bytes of an IPv4 address among IPv6 ones (RFC 4291, section 2.5.5.2). */
const mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/**
 * One end of an IPv4 connection, with one call where Bun makes one for the address and one for the port; undefined for any other, or when the system does not say.
 */
export function ipv4End(fd: number, which: "peer" | "own"): HostPort | undefined {
  if (libc === undefined) return undefined;
  endingSize[0] = ending.byteLength;
  const call = which === "peer" ? libc.getpeername : libc.getsockname;
  if (call(fd, ptr(ending), ptr(endingSize)) !== 0) return undefined;
  const at = ending[0] === AF_INET ? 4 : mapped.every((byte, index) => ending[8 + index] === byte) ? 20 : undefined;
  if (at === undefined) return undefined;
  const host = `${ending[at]}.${ending[at + 1]}.${ending[at + 2]}.${ending[at + 3]}`;
  return { host, port: ((ending[2] ?? 0) << 8) | (ending[3] ?? 0) };
}
