import { errorText } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { AgentMetrics } from "../../metrics.ts";
import { libc, libcFailure } from "./libc.ts";
import { setResetOnClose } from "./socket-options.ts";

/** What a tunnel cannot do for its users on this machine, and why. */
export interface LostGuarantees {
  off: readonly string[];
  reason: string;
}

const resetWhenKilled =
  "streams are reset when this process is killed (they end as if they were complete: a cut answer looks whole)";
const resetPassedOn = "a reset at one end is a reset at the other (it arrives as an orderly end)";
const kernelMoves = "bulk transfers move inside the kernel, in bounded memory (they are slower and take more)";

/** Undefined when nothing is missing, which is so wherever Linux, glibc and the sandbox allow the calls that Bun has no words for. */
export function lostGuarantees(): LostGuarantees | undefined {
  if (libc === undefined) {
    // "bun:ffi requires the JIT" needs this translation (Bun 1.4.5 with MemoryDenyWriteExecute, BUN_JSC_useJIT=0 or a small `ulimit -v`).
    const reason = `the system's library cannot be called (${errorText(libcFailure)}); it takes glibc or musl, and memory that may be written and executed`;
    return { off: [resetWhenKilled, kernelMoves], reason };
  }
  // Bun's own resets need it too.
  return canResetOnClose(libc)
    ? undefined
    : { off: [resetPassedOn, resetWhenKilled], reason: "setsockopt(SO_LINGER) is refused" };
}

const AF_INET = 2;
const SOCK_STREAM_CLOEXEC = 0o2000001;

/** Tries on a socket of its own. Without one there is no answer, and no reason to worry anybody. */
function canResetOnClose({ socket, close }: NonNullable<typeof libc>): boolean {
  const fd = socket(AF_INET, SOCK_STREAM_CLOEXEC, 0);
  if (fd < 0) return true;
  const isSet = setResetOnClose(fd, "reset");
  close(fd);
  return isSet;
}

/** Says once what is missing, and keeps it visible as a metric. */
export function reportGuarantees(log: Log, metrics: AgentMetrics): void {
  const lost = lostGuarantees();
  metrics.gauge(
    "guarantees_off",
    "Guarantees that cannot be kept on this machine; a warning at the start says which and why.",
    () => lost?.off.length ?? 0,
  );
  if (lost !== undefined) {
    log.warn("not every guarantee can be kept here", { off: lost.off.join("; "), reason: lost.reason });
  }
}
