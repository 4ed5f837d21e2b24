import { type Via, viaText } from "../../via.ts";
import { type Attempt, connectWire } from "./connect.ts";
import { connectFirst, dialTimeout } from "./dial.ts";
import { DialError } from "./dial-error.ts";
import { openTunnel } from "./http-connect.ts";
import { resolve } from "./names.ts";

/** How connections get to the proxy's rendezvous. */
export interface Way {
  /** What to connect to for a host. Rejects with DialError after `timeout` milliseconds. */
  resolve(host: string, timeout: number): Promise<string[]>;
  connect(address: string, port: number): Attempt;
}

const direct: Way = { resolve, connect: connectWire };

export function wayOut(via: Via | undefined): Way {
  if (via === undefined) return direct;
  return {
    // Where only an HTTP proxy leads out, often only that resolves names: it gets the name as it is.
    resolve: async (host) => [host],
    connect: (host, port) => connectVia(via, host, port),
  };
}

function connectVia(via: Via, host: string, port: number): Attempt {
  const unwanted = new AbortController();
  const { signal } = unwanted;
  const reach = async () => {
    try {
      const wire = await connectFirst(await resolve(via.host, dialTimeout), via.port, dialTimeout, { signal });
      return await openTunnel(wire, via, { host, port }, signal);
    } catch (cause) {
      if (!(cause instanceof DialError)) throw cause;
      throw new DialError(cause.result, `via ${viaText(via)}: ${cause.message}`, { cause });
    }
  };
  return { wire: reach(), giveUp: () => unwanted.abort() };
}
