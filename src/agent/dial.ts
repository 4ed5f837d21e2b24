import { formatHostPort, type HostPort } from "../endpoint.ts";
import { type Attempt, connectWire } from "./connect.ts";
import { DialError, dialError } from "./dial-error.ts";
import { resolve } from "./names.ts";
import type { Wire } from "./wire.ts";

/** Milliseconds for resolving a name and connecting, to the proxy as to the backend. */
export const dialTimeout = 5000;

/** Milliseconds after which the next address is tried too while the one before has not answered (RFC 8305 recommends 250). */
const attemptDelay = 250;

export interface DialOptions {
  /** Begins one attempt; absent: a plain connection. */
  connect?: (address: string, port: number) => Attempt;
  /** Nobody wants the connection any more. */
  signal?: AbortSignal;
}

/**
 * Connects to the first of the addresses that answers: each gets a head start of 250 ms before the next one is tried beside it.
 * Rejects with DialError when all have failed or after `timeout` milliseconds. Attempts that did not win are closed.
 */
export async function connectFirst(
  addresses: readonly string[],
  port: number,
  timeout: number,
  { connect = connectWire, signal }: DialOptions = {},
): Promise<Wire> {
  const race = Promise.withResolvers<Wire>();
  const running = new Set<Attempt>();
  let settled = false;
  let next = 0;
  let headStart: Timer | undefined;
  const settle = (finish: () => void) => {
    if (settled) return;
    settled = true;
    clearTimeout(limit);
    clearTimeout(headStart);
    signal?.removeEventListener("abort", abandon);
    finish();
    for (const attempt of running) attempt.giveUp();
  };
  const abandon = () => settle(() => race.reject(new DialError("timeout", "the connection is not wanted any more")));
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
    const attempt = connect(address, port);
    running.add(attempt);
    attempt.wire.then(
      (wire) => {
        running.delete(attempt);
        if (settled) wire.reset();
        else settle(() => race.resolve(wire));
      },
      (cause) => {
        running.delete(attempt);
        const failure = cause instanceof DialError ? cause : dialError({ host: address, port }, cause);
        if (running.size === 0 && next === addresses.length) settle(() => race.reject(failure));
        else tryNext();
      },
    );
  };
  signal?.addEventListener("abort", abandon);
  if (signal?.aborted) abandon();
  tryNext();
  return race.promise;
}

/** Resolves the name and connects, both within `timeout` milliseconds. Rejects with DialError. */
export async function dial({ host, port }: HostPort, timeout: number, options: DialOptions = {}): Promise<Wire> {
  const since = performance.now();
  const addresses = await resolve(host, timeout);
  return connectFirst(addresses, port, Math.max(1, timeout - (performance.now() - since)), options);
}

/**
 * Dials, and dials again beside every `repeat` milliseconds while nothing answers. A connection to a Service sticks to the pod to which its first
 * packet went, through all of the kernel's repetitions: when that pod is gone without a word, only a new connection gets to the next one.
 * `attempt` gets what is left of `timeout` in milliseconds, and is told when it is not wanted any more.
 * Rejects as soon as one attempt does, or after `timeout` milliseconds.
 */
export async function dialRepeatedly(
  attempt: (timeout: number, signal: AbortSignal) => Promise<Wire>,
  timeout: number,
  repeat: number,
): Promise<Wire> {
  const race = Promise.withResolvers<Wire>();
  const unwanted = new AbortController();
  const until = performance.now() + timeout;
  const begin = async () => {
    try {
      const wire = await attempt(Math.max(1, until - performance.now()), unwanted.signal);
      if (unwanted.signal.aborted) wire.reset();
      else race.resolve(wire);
      unwanted.abort();
    } catch (cause) {
      race.reject(cause);
    }
  };
  const timer = setInterval(begin, repeat);
  void begin();
  try {
    return await race.promise;
  } finally {
    clearInterval(timer);
    unwanted.abort();
  }
}
