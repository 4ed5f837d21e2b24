import { isIPv4, isIPv6 } from "node:net";

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
