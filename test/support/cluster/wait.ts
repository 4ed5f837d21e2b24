/** Waiting for a condition of another program that cannot tell us by itself. */

export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

export interface WaitOptions {
  /** Milliseconds until the wait fails. */
  readonly deadline: number;
  /** Milliseconds between two probes. Default 50. */
  readonly interval?: number;
}

/**
 * Calls `probe` until it gives something else than undefined or false, and gives that. A probe that throws counts as
 * "not yet"; when the deadline passes its last error is the cause of the {@link DeadlineError}.
 */
export async function waitFor<T>(
  what: string,
  options: WaitOptions,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const end = performance.now() + options.deadline;
  let cause: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== undefined && value !== false) return value;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= end) throw new DeadlineError(`${what}: not within ${options.deadline} ms`, { cause });
    await Bun.sleep(options.interval ?? 50);
  }
}
