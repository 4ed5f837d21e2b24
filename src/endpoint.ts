import { isIPv4, isIPv6 } from "node:net";

/** One end of a TCP connection: `host` is a DNS name or an address without brackets. */
export interface HostPort {
  host: string;
  port: number;
}

const maxNameLength = 253;
const label = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/i;

/**
 * Reads `name:port`, `IPv4:port` or `[IPv6]:port`; undefined when the text is none of these.
 * Port 0 is read too: whether it has a meaning is for the caller to say.
 */
export function parseHostPort(text: string): HostPort | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text);
  if (match === null) {
    return undefined;
  }
  const [, bracketed, plain, digits] = match;
  const port = Number(digits);
  const host = bracketed ?? plain ?? "";
  const validHost = bracketed === undefined ? isIPv4(host) || isDnsName(host) : isIPv6(host);
  return validHost && port <= 65_535 ? { host, port } : undefined;
}

/** The text that {@link parseHostPort} reads. */
export function formatHostPort({ host, port }: HostPort): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Labels as resolvers take them (underscores occur in practice); a last label of digits only can be no name (RFC 3696 section 2). */
function isDnsName(name: string): boolean {
  const labels = name.replace(/\.$/, "").split(".");
  return name.length <= maxNameLength && labels.every((part) => label.test(part)) && !/^\d+$/.test(labels.at(-1) ?? "");
}
