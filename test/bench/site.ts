import { createServer } from "node:net";

/** Where one end of a product runs. */
export interface Place {
  /** Address on which its programs listen. */
  address: string;
  /** What to put before a command so that it runs there; empty for this machine itself. */
  enter: readonly string[];
}

/** The two ends of what is measured, and the backend behind it. Consumers run at the server's place. */
export interface Site {
  server: Place;
  client: Place;
  /** Address and port of the backend, as the client side reaches it. */
  backend: string;
  /** File of the network namespace in which the backend listens; absent when it is this machine's own. */
  backendNamespace?: string;
  /** Folder for configuration and logs. */
  folder: string;
  /** A TCP port for `place` that nobody else uses there. */
  port(place: Place): Promise<number>;
}

/**
 * A loopback address that no other run uses, for the nth product of this run: bore insists on port 7835, so that two of
 * them need two addresses.
 */
export function loopbackAddress(nth: number): string {
  const run = process.pid % (100 * 250);
  return `127.${100 + Math.floor(run / 250)}.${1 + (run % 250)}.${1 + nth}`;
}

/** A port that was free on this machine a moment ago. */
export async function freePort(address: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, address, resolve));
  const bound = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (bound === null || typeof bound === "string") throw new Error(`no port on ${address}`);
  return bound.port;
}
