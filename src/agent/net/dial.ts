import { formatHostPort, type HostPort } from "../../endpoint.ts";
import { type Attempt, connectWire } from "./connect.ts";
import { DialError, dialError } from "./dial-error.ts";
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

/**
 * Resolves and connects, and again beside every `repeat` milliseconds while nothing answers. A connection to a Service sticks to the pod to which its
 * first packet went, through all of the kernel's repetitions: when that pod is gone without a word, only a new connection gets to the next one.
 * Rejects with DialError as soon as one attempt is refused, or after `timeout` milliseconds.
 */
export async function dialRepeatedly(
  { host, port }: HostPort,
  timeout: number,
  repeat: number,
  way: Required<Pick<DialOptions, "connect">> & { resolve(host: string, timeout: number): Promise<string[]> },
): Promise<Wire> {
  const until = performance.now() + timeout;
  const left = () => Math.max(1, until - performance.now());
  const dial = async (signal: AbortSignal) => {
    const addresses = await way.resolve(host, left());
    return connectFirst(addresses, port, left(), { connect: way.connect, signal });
  };
  return firstOf(dial, repeat, (wire) => wire.reset());
}

/** Attempts, one more beside the others every `repeat` milliseconds, until one succeeds or fails; what comes too late is undone. */
export async function firstOf<T>(
  attempt: (unwanted: AbortSignal) => Promise<T>,
  repeat: number,
  undo: (late: T) => void,
): Promise<T> {
  const race = Promise.withResolvers<T>();
  const unwanted = new AbortController();
  const { signal } = unwanted;
  const begin = async () => {
    try {
      const result = await attempt(signal);
      if (signal.aborted) undo(result);
      else race.resolve(result);
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
