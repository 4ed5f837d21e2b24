import { readFileSync } from "node:fs";
import { constants } from "node:os";
import type { Log } from "../log.ts";

const stopSignals = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const;

/** They mean nothing here, and would end the process without a drain. */
const ignoredSignals = ["SIGUSR1", "SIGUSR2"] as const;

/** Extra time beyond the drain timeout for the last resets to leave, in milliseconds. */
const drainGrace = 2000;

export interface StopSignal {
  /** True from the first signal on. */
  readonly received: boolean;
  /** Settles with the name of the first signal that stops a role. */
  readonly first: Promise<string>;
}

/**
 * Listens for the signals that stop a role; the second one ends the process at once with 128 plus its number. A hang-up never does: when a
 * terminal is closed, both the shell and the kernel send one. What the process was started to ignore, as by nohup(1), stays ignored.
 */
export function listenForStop(): StopSignal {
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = false;
  const ignored = signalsIgnoredAtStart();
  for (const signal of stopSignals.filter((each) => !ignored.has(constants.signals[each]))) {
    process.on(signal, () => {
      if (received && signal !== "SIGHUP") {
        process.exit(128 + constants.signals[signal]);
      }
      received = true;
      resolve(signal);
    });
  }
  for (const signal of ignoredSignals) {
    process.on(signal, () => {});
  }
  return {
    get received() {
      return received;
    },
    first: promise,
  };
}

/** Numbers of signals; SigIgn of proc(5) is a mask in hexadecimal whose lowest bit is signal 1. */
function signalsIgnoredAtStart(): Set<number> {
  let status: string;
  try {
    status = readFileSync("/proc/self/status", "latin1");
  } catch {
    return new Set();
  }
  const mask = BigInt(`0x${/^SigIgn:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  const numbers = Array.from({ length: 64 }, (_, bit) => bit + 1);
  return new Set(numbers.filter((number) => (mask >> BigInt(number - 1)) & 1n));
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
