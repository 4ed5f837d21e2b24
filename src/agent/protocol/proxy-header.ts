import { isIP, isIPv4 } from "node:net";
import { formatHostPort, type HostPort, parseHostPort } from "../../endpoint.ts";

/**
 * The PROXY protocol, versions 1 and 2 (haproxy.org, proxy-protocol.txt): a header before the first byte of a connection that tells
 * where it really comes from.
 */
export type ProxyProtocol = "v1" | "v2";

export class ProxyHeaderError extends Error {
  override readonly name = "ProxyHeaderError";
}

/** Ends of a connection as `host:port` with numeric hosts; absent when the sender does not know them. */
export interface ProxyHeader {
  addresses: { from: string; to: string } | undefined;
  /** Bytes of the whole header, 64 KiB at most: what follows the addresses in version 2 may still be on its way, and is of no interest. */
  length: number;
}

const signature = Buffer.from([0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]);
const maxLengthV1 = 107;
/** Signature, version and command, family and protocol, length of the rest. */
const fixedLengthV2 = 16;
/** Commands of version 2; the others are unassigned and must be refused. */
const LOCAL = 0;
const PROXY = 1;

/**
 * Reads a header at the start of `bytes`; undefined until its addresses have come, for which less than 120 bytes are enough. Throws
 * ProxyHeaderError when there is none.
 */
export function parseProxyHeader(bytes: Uint8Array): ProxyHeader | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isV2 = buffer.subarray(0, signature.length).equals(signature.subarray(0, buffer.length));
  if (isV2) return buffer.length < fixedLengthV2 ? undefined : parseV2(buffer);
  const isV1 = buffer.subarray(0, 6).equals(Buffer.from("PROXY ").subarray(0, buffer.length));
  if (isV1) return parseV1(buffer);
  throw new ProxyHeaderError("the connection does not begin with a PROXY protocol header");
}

function parseV1(buffer: Buffer): ProxyHeader | undefined {
  const end = buffer.subarray(0, maxLengthV1).indexOf("\r\n");
  if (end < 0) {
    if (buffer.length >= maxLengthV1) throw new ProxyHeaderError("the PROXY protocol header has no end");
    return undefined;
  }
  const [, family, source = "", target = "", sourcePort, targetPort, ...more] = buffer
    .toString("latin1", 0, end)
    .split(" ");
  const length = end + 2;
  if (family === "UNKNOWN") return { addresses: undefined, length };
  const version = family === "TCP4" ? 4 : family === "TCP6" ? 6 : undefined;
  if (version === undefined || more.length > 0 || isIP(source) !== version || isIP(target) !== version) {
    throw new ProxyHeaderError("the PROXY protocol header is malformed");
  }
  return {
    addresses: {
      from: formatHostPort({ host: source, port: readPort(sourcePort) }),
      to: formatHostPort({ host: target, port: readPort(targetPort) }),
    },
    length,
  };
}

function readPort(text: string | undefined): number {
  const port = Number(text);
  if (text === undefined || !/^(0|[1-9]\d{0,4})$/.test(text) || port > 65_535) {
    throw new ProxyHeaderError("the PROXY protocol header has a wrong port");
  }
  return port;
}

function parseV2(buffer: Buffer): ProxyHeader | undefined {
  const version = buffer.readUInt8(12) >>> 4;
  const command = buffer.readUInt8(12) & 0x0f;
  const family = buffer.readUInt8(13);
  const payload = buffer.readUInt16BE(14);
  const length = fixedLengthV2 + payload;
  if (version !== 2) throw new ProxyHeaderError("the PROXY protocol header is malformed");
  // What a load balancer's own connection says of addresses is to be ignored.
  if (command === LOCAL) return { addresses: undefined, length };
  if (command !== PROXY) throw new ProxyHeaderError("the PROXY protocol header has an unknown command");
  if (family >>> 4 > 3 || (family & 0x0f) > 2)
    throw new ProxyHeaderError("the PROXY protocol header has a wrong family");
  const size = family === 0x11 ? 4 : family === 0x21 ? 16 : 0;
  // Unix sockets, UDP and connections of an unknown kind have no TCP addresses.
  if (size === 0) return { addresses: undefined, length };
  if (payload < 2 * size + 4) throw new ProxyHeaderError("the PROXY protocol header is too short");
  if (buffer.length < fixedLengthV2 + 2 * size + 4) return undefined;
  const at = (offset: number) => formatAddress(buffer.subarray(offset, offset + size));
  const ports = 16 + 2 * size;
  return {
    addresses: {
      from: formatHostPort({ host: at(16), port: buffer.readUInt16BE(ports) }),
      to: formatHostPort({ host: at(16 + size), port: buffer.readUInt16BE(ports + 2) }),
    },
    length,
  };
}

function formatAddress(bytes: Uint8Array): string {
  if (bytes.length === 4) return [...bytes].join(".");
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16),
  );
  // The URL parser writes an IPv6 address in its canonical form (RFC 5952).
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

/** The header for a connection between `from` and `to` (`host:port`); without them, or when they are no addresses, one that says "unknown". */
export function makeProxyHeader(version: ProxyProtocol, from: string | undefined, to: string | undefined): Uint8Array {
  const source = readEnd(from);
  const target = readEnd(to);
  if (source === undefined || target === undefined || isIP(source.host) === 0 || isIP(target.host) === 0) {
    return version === "v1"
      ? Buffer.from("PROXY UNKNOWN\r\n")
      : Buffer.concat([signature, Buffer.from([0x20, 0, 0, 0])]);
  }
  // One family for both: an IPv4 address among IPv6 ones is written as ::ffff:a.b.c.d.
  const isV4 = isIPv4(source.host) && isIPv4(target.host);
  const [sourceHost, targetHost] = isV4 ? [source.host, target.host] : [asIPv6(source.host), asIPv6(target.host)];
  if (version === "v1") {
    return Buffer.from(`PROXY ${isV4 ? "TCP4" : "TCP6"} ${sourceHost} ${targetHost} ${source.port} ${target.port}\r\n`);
  }
  const addresses = Buffer.concat([addressBytes(sourceHost), addressBytes(targetHost), Buffer.alloc(4)]);
  addresses.writeUInt16BE(source.port, addresses.length - 4);
  addresses.writeUInt16BE(target.port, addresses.length - 2);
  return Buffer.concat([signature, Buffer.from([0x21, isV4 ? 0x11 : 0x21, 0, addresses.length]), addresses]);
}

/** The zone of a link-local address (`fe80::1%eth0`) means nothing elsewhere, and neither version has a place for it. */
function readEnd(text: string | undefined): HostPort | undefined {
  const end = text === undefined ? undefined : parseHostPort(text);
  return end === undefined ? undefined : { ...end, host: end.host.replace(/%.*$/, "") };
}

const asIPv6 = (host: string): string => (isIPv4(host) ? `::ffff:${host}` : host);

function addressBytes(host: string): Uint8Array {
  if (isIPv4(host)) return Uint8Array.from(host.split("."), Number);
  const canonical = new URL(`http://[${host}]`).hostname.slice(1, -1);
  const [head = "", tail] = canonical.split("::");
  const groups = (text: string | undefined) => (text === undefined || text === "" ? [] : text.split(":"));
  const [left, right] = [groups(head), groups(tail)];
  const zeros = Array<string>(8 - left.length - right.length).fill("0");
  const all = tail === undefined ? left : [...left, ...zeros, ...right];
  return Uint8Array.from(all.flatMap((group) => [Number.parseInt(group, 16) >>> 8, Number.parseInt(group, 16) & 0xff]));
}
