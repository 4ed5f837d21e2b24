import type { Log } from "../log.ts";

/** Longest time that stopping may take, in milliseconds; a lease then runs out by itself. */
const stopTimeout = 10_000;

/** Stops what works with a lease, and does not wait for it longer than that. */
export async function stopWithin(role: { stop(): Promise<void> }, log: Log): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    log.warn("not everything ended in time", { timeoutMs: stopTimeout });
    resolve();
  }, stopTimeout);
  await Promise.race([role.stop(), late]);
  clearTimeout(timer);
}
