/** When to try again after the `n`-th failure in a row: anywhere between nothing and a growing bound ("full jitter"), so that many peers do not come back in step. */
export interface Backoff {
  /** Milliseconds until the next attempt. */
  next(): number;
  /** Forget the failures. */
  reset(): void;
}

export interface BackoffOptions {
  /** Bound of the first wait, milliseconds. */
  first: number;
  /** Failures before it grows; default none. */
  steady?: number;
  /** The bound never grows beyond this, milliseconds. */
  cap: number;
  /** From 0 to below 1, like Math.random. */
  random: () => number;
}

/** Slower than doubling: after an outage of some seconds the next attempt should still come soon. */
const growth = 1.5;

export function makeBackoff({ first, steady = 0, cap, random }: BackoffOptions): Backoff {
  let failures = 0;
  return {
    next() {
      const bound = Math.min(cap, first * growth ** Math.max(0, failures - steady));
      if (bound < cap) failures += 1;
      return Math.floor(random() * bound);
    },
    reset() {
      failures = 0;
    },
  };
}
