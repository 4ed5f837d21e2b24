import type { HostPort } from "../../endpoint.ts";
import { connectFirst } from "../net/dial.ts";
import type { Way } from "../net/way.ts";
import type { Wire } from "../net/wire.ts";
import { Steps } from "./steps.ts";

export interface DataConnectionOptions {
  /** Address and port of the proxy that the session is with, and how to get there. */
  place: HostPort;
  way: Way;
  /** Inside TLS, as the session is. */
  encrypted: boolean;
}

/**
 * A new connection to the proxy of a session, on which `Join` comes next; its owner has to be set at once. TLS is asked for with the first packet, without waiting for the
 * challenge, and costs one round trip for that and one for itself. `timeout` in milliseconds is for connecting; each step of TLS has its own.
 * Rejects with DialError, EncryptionFailed, ProtocolError, or the reason why the connection ended.
 */
export async function openDataConnection(options: DataConnectionOptions, timeout: number): Promise<Wire> {
  const { place, way, encrypted } = options;
  const wire = await connectFirst([place.host], place.port, timeout, way);
  if (!encrypted) return wire;
  const steps = new Steps(wire);
  await steps.encrypt();
  return steps.connection.release().wire;
}
