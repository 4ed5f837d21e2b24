import { formatHostPort, type HostPort } from "../../endpoint.ts";
import { errorCode } from "../../errors.ts";
import { knowsCauses } from "./connect.ts";

export type DialResult = "refused" | "unreachable" | "unresolved" | "timeout" | "overload";

/** No connection came about; `result` is the word for metrics. */
export class DialError extends Error {
  override readonly name = "DialError";

  constructor(
    readonly result: DialResult,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** What keeps a packet from getting there, in the system's words (errno(3), ip-route(8)). */
const obstacles: Readonly<Record<string, string>> = {
  ENETUNREACH: "no route to that network",
  EHOSTUNREACH: "no route to that host, or a router on the way says so",
  EACCES: "a route or a firewall of this machine prohibits it",
  EPERM: "a firewall or a policy of this machine prohibits it",
  EADDRNOTAVAIL: "this machine has no address, or no free port, to connect from",
  EAFNOSUPPORT: "this machine has no such kind of address",
  EINVAL: "a route of this machine discards it",
  ECONNRESET: "reset at once",
};

/** A failed connect in the words that its user needs. */
export function dialError(to: HostPort, cause: unknown): DialError {
  const code = errorCode(cause);
  const where = formatHostPort(to);
  if (code === "ECONNREFUSED") {
    const doubt = knowsCauses ? "" : ", or there is no way to it (this system does not say which)";
    return new DialError("refused", `${where} refused the connection${doubt}`, { cause });
  }
  if (code === "EMFILE")
    return new DialError("overload", `too many open files for a connection to ${where}`, { cause });
  if (code === "ETIMEDOUT") return new DialError("timeout", `${where} did not answer`, { cause });
  const obstacle = code === undefined ? undefined : obstacles[code];
  const reason = obstacle === undefined ? (code ?? "unknown error") : `${obstacle}: ${code}`;
  return new DialError("unreachable", `${where} cannot be reached (${reason})`, { cause });
}
