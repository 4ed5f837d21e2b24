import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { formatHostPort, type HostPort } from "../endpoint.ts";
import { errorCode } from "../errors.ts";
import { connectWire } from "./sockets.ts";
import type { Wire } from "./wire.ts";

/** Milliseconds for resolving a name and connecting, to the proxy as to the backend. */
export const dialTimeout = 5000;

/** Milliseconds after which the next address is tried too while the one before has not answered (RFC 8305 recommends 250). */
const attemptDelay = 250;

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

/** Numeric addresses of a host, asked for afresh, IPv6 and IPv4 in turn. Rejects with DialError after `timeout` milliseconds. */
export async function resolve(host: string, timeout: number): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  const found = await within(timeout, lookup(host, { all: true, order: "verbatim" })).catch((cause) => {
    throw cause instanceof DialError ? cause : new DialError("unresolved", `${host} does not resolve`, { cause });
  });
  if (found === undefined)
    throw new DialError("unresolved", `${host} was not resolved within ${Math.round(timeout)} ms`);
  const [first, second] = [6, 4].map((family) =>
    found.filter((one) => one.family === family).map((one) => one.address),
  );
  const turns = Array.from({ length: found.length }, (_, at) => [first?.[at], second?.[at]]).flat();
  return turns.filter((address) => address !== undefined);
}

/**
 * Connects to the first of the addresses that answers: each gets a head start of 250 ms before the next one is tried beside it.
 * Rejects with DialError when all have failed or after `timeout` milliseconds.
 */
export async function connectFirst(addresses: readonly string[], port: number, timeout: number): Promise<Wire> {
  const race = Promise.withResolvers<Wire>();
  let settled = false;
  let pending = addresses.length;
  let next = 0;
  let failure: unknown;
  let headStart: Timer | undefined;
  const settle = (finish: () => void) => {
    settled = true;
    clearTimeout(limit);
    clearTimeout(headStart);
    finish();
  };
  const limit = setTimeout(() => {
    const where = addresses.map((host) => formatHostPort({ host, port })).join(", ");
    settle(() => race.reject(new DialError("timeout", `no answer from ${where} within ${Math.round(timeout)} ms`)));
  }, timeout);
  const tryNext = () => {
    clearTimeout(headStart);
    const address = addresses[next];
    if (settled || address === undefined) return;
    next += 1;
    if (next < addresses.length) headStart = setTimeout(tryNext, attemptDelay);
    connectWire(address, port).then(
      (wire) => (settled ? wire.reset() : settle(() => race.resolve(wire))),
      (cause) => {
        failure = dialError({ host: address, port }, cause);
        pending -= 1;
        if (pending === 0 && !settled) settle(() => race.reject(failure));
        else tryNext();
      },
    );
  };
  tryNext();
  return race.promise;
}

/** Resolves the name and connects, both within `timeout` milliseconds. Rejects with DialError. */
export async function dial({ host, port }: HostPort, timeout: number): Promise<Wire> {
  const since = performance.now();
  const addresses = await resolve(host, timeout);
  return connectFirst(addresses, port, Math.max(1, timeout - (performance.now() - since)));
}

/**
 * Dials, and dials again beside every `repeat` milliseconds while nothing answers. A connection to a Service sticks to the pod to which its first
 * packet went, through all of the kernel's repetitions: when that pod is gone without a word, only a new connection gets to the next one.
 * Rejects with DialError as soon as one attempt is refused, or after `timeout` milliseconds.
 */
export async function dialRepeatedly(to: HostPort, timeout: number, repeat: number): Promise<Wire> {
  const race = Promise.withResolvers<Wire>();
  const until = performance.now() + timeout;
  let settled = false;
  const attempt = async () => {
    try {
      const wire = await dial(to, Math.max(1, until - performance.now()));
      if (settled) wire.reset();
      else race.resolve(wire);
      settled = true;
    } catch (cause) {
      race.reject(cause);
    }
  };
  const timer = setInterval(attempt, repeat);
  void attempt();
  try {
    return await race.promise;
  } finally {
    settled = true;
    clearInterval(timer);
  }
}

function dialError(to: HostPort, cause: unknown): DialError {
  const code = errorCode(cause);
  if (code === "ECONNREFUSED")
    return new DialError("refused", `${formatHostPort(to)} refused the connection`, { cause });
  if (code === "EMFILE")
    return new DialError("overload", `too many open files for a connection to ${formatHostPort(to)}`, { cause });
  if (code === "ETIMEDOUT") return new DialError("timeout", `${formatHostPort(to)} did not answer`, { cause });
  return new DialError("unreachable", `${formatHostPort(to)} cannot be reached (${code ?? "unknown error"})`, {
    cause,
  });
}

/** The promise's value, or undefined when it takes longer than `timeout` milliseconds. */
async function within<Value>(timeout: number, promise: Promise<Value>): Promise<Value | undefined> {
  let timer: Timer | undefined;
  const late = new Promise<undefined>((done) => {
    timer = setTimeout(done, timeout, undefined);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
