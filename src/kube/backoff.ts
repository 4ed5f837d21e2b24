export interface BackoffOptions {
  /** Milliseconds of the first pause, before jitter. */
  first: number;
  /** Longest pause in milliseconds. */
  cap: number;
  /** In [0, 1), for tests; default Math.random. */
  random?: () => number;
}

/**
 * The pause before try number `failures` + 1: doubles with each failure up to the cap, with the upper half of it random, so that many
 * clients that failed together do not come back together and none hammers at once.
 */
export function backoffDelay(failures: number, { first, cap, random = Math.random }: BackoffOptions): number {
  const full = Math.min(cap, first * 2 ** Math.min(failures - 1, 30));
  return full / 2 + (full / 2) * random();
}

/** Waits, or less long when the signal fires; resolves either way. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) {
    return Promise.resolve();
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  const finish = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", finish);
    resolve();
  };
  const timer = setTimeout(finish, milliseconds);
  signal.addEventListener("abort", finish, { once: true });
  return promise;
}
