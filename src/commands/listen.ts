import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { formatHostPort, type HostPort } from "../endpoint.ts";
import { errorCode, ListenError, listenFailure } from "../errors.ts";
import type { Log } from "../log.ts";

/**
 * The address behind a listen setting: a name is resolved once, so that a wrong one is told apart from a taken port. Where the system has no
 * IPv6, `[::]` (every address) means every IPv4 address. Throws ListenError.
 */
export async function resolveListen(setting: string, { host, port }: HostPort, log: Log): Promise<HostPort> {
  const address = isIP(host) === 0 ? await resolveName(setting, host) : host;
  if (isIP(address) !== 6 || hasIpv6()) {
    return { host: address, port };
  }
  const at = formatHostPort({ host: address, port });
  if (!/^[0:]+$/.test(address)) {
    throw listenFailure(`${at} (${setting})`, new NoIpv6Error());
  }
  const fallback = { host: "0.0.0.0", port };
  log.warn("IPv6 is not available here", { setting, wanted: at, listening: formatHostPort(fallback) });
  return fallback;
}

async function resolveName(setting: string, name: string): Promise<string> {
  try {
    return (await lookup(name, hasIpv6() ? {} : { family: 4 })).address;
  } catch (cause) {
    throw new ListenError(`${setting}: the name ${name} does not resolve`, { cause });
  }
}

class NoIpv6Error extends Error {
  override readonly name = "NoIpv6Error";
  readonly code = "EAFNOSUPPORT";
}

let ipv6: boolean | undefined;

/** Asked once: each role listens on two or three addresses. */
function hasIpv6(): boolean {
  ipv6 ??= tryIpv6();
  return ipv6;
}

/**
 * Whether this process may make IPv6 sockets at all: the kernel may have none, or a sandbox may forbid them. Of Bun's two ways to listen
 * only the server says why it failed (measured with 1.4.5). A machine without the address ::1 answers with another code.
 */
function tryIpv6(): boolean {
  try {
    void Bun.serve({ hostname: "::1", port: 0, fetch: () => new Response() }).stop(true);
    return true;
  } catch (error) {
    return errorCode(error) !== "EAFNOSUPPORT";
  }
}
