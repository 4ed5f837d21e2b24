import { BlockList, isIP } from "node:net";
import { CredentialsError } from "./errors.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * URL of the HTTP proxy through which a server is asked, as kubectl reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY (https://pkg.go.dev/golang.org/x/net/http/httpproxy);
 * undefined: none. Bun's own reading knows no CIDRs and sends requests for this very machine to the proxy. Throws CredentialsError for a proxy of another kind.
 */
export function proxyFor(server: URL, environment: Environment = process.env): string | undefined {
  const name = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const named = (environment[name] || environment[name.toLowerCase()] || "").trim();
  if (named === "" || isDirect(server, environment.NO_PROXY || environment.no_proxy || "")) return undefined;
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(named) ? named : `http://${named}`;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new CredentialsError(`${name}: accepted are http://HOST:PORT and https://HOST:PORT`);
  }
  return url;
}

function isDirect({ hostname, port, protocol }: URL, exceptions: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (host === "localhost" || loopback.check(host, isIP(host) === 6 ? "ipv6" : "ipv4")) return true;
  const ofServer = port || (protocol === "https:" ? "443" : "80");
  return exceptions
    .toLowerCase()
    .split(",")
    .map((entry) => entry.trim())
    .some((entry) => entry !== "" && matches(entry, host, ofServer));
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** `entry`: `*`, an address range, or a name or address with or without a port; a name stands for the names below it too, with a leading dot for those alone. */
function matches(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  const range = /^(\S+)\/(\d{1,3})$/.exec(entry);
  if (range !== null) return isInside(host, range[1] ?? "", Number(range[2]));
  const [, bracketed, plain, itsPort] = /^(?:\[(.+)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  const name = bracketed ?? plain ?? entry;
  if (itsPort !== undefined && itsPort !== port) return false;
  if (isIP(name) !== 0 || isIP(host) !== 0) return isInside(host, name, isIP(name) === 6 ? 128 : 32);
  const suffix = name.replace(/^\*\./, ".");
  return host === suffix || host.endsWith(suffix.startsWith(".") ? suffix : `.${suffix}`);
}

function isInside(host: string, network: string, bits: number): boolean {
  const family = isIP(network);
  if (family === 0 || isIP(host) === 0 || bits > (family === 6 ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(network, bits, family === 6 ? "ipv6" : "ipv4");
  return list.check(host, isIP(host) === 6 ? "ipv6" : "ipv4");
}

/** `fetch` through exactly this proxy, or through none: Bun 1.4.5 would heed NO_PROXY for one that was named to it, and has `false`, which its types do not know. */
export function fetchThrough(proxy: string | undefined, url: string, init: BunFetchRequestInit): Promise<Response> {
  if (proxy === undefined) {
    const direct: object = { proxy: false };
    return fetch(url, { ...init, ...direct });
  }
  const { NO_PROXY, no_proxy } = process.env;
  try {
    // It reads them before it returns.
    delete process.env.NO_PROXY;
    delete process.env.no_proxy;
    return fetch(url, { ...init, proxy });
  } finally {
    if (NO_PROXY !== undefined) process.env.NO_PROXY = NO_PROXY;
    if (no_proxy !== undefined) process.env.no_proxy = no_proxy;
  }
}
