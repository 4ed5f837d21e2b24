import { constants } from "node:os";
import type { Log } from "../log.ts";

const stopSignals = ["SIGTERM", "SIGINT"] as const;

/** Extra time beyond the drain timeout for the last resets to leave, in milliseconds. */
const drainGrace = 2000;

export interface StopSignal {
  /** True from the first signal on. */
  readonly received: boolean;
  /** Settles with the name of the first SIGTERM or SIGINT. */
  readonly first: Promise<string>;
}

/** Listens for the signals that stop a role; the second one ends the process at once with 128 plus its number. */
export function listenForStop(): StopSignal {
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = false;
  for (const signal of stopSignals) {
    process.on(signal, () => {
      if (received) {
        process.exit(128 + constants.signals[signal]);
      }
      received = true;
      resolve(signal);
    });
  }
  return {
    get received() {
      return received;
    },
    first: promise,
  };
}

/** Lets running streams end, however the role behaves: never longer than the timeout and a little. */
export async function drainWithin(
  role: { drain(timeout: number): Promise<void>; stop(): void },
  timeout: number,
  log: Log,
): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    log.warn("drain did not end in time", { timeoutMs: timeout });
    resolve();
  }, timeout + drainGrace);
  await Promise.race([role.drain(timeout), late]);
  clearTimeout(timer);
  role.stop();
}
