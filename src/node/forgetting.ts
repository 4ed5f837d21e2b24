import { errorText } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Family } from "./address.ts";
import type { Conntrack } from "./conntrack.ts";
import type { Forgotten } from "./conntrack-changes.ts";

/** Forgets connections one call after another, apart from the tables: that of a thousand addresses takes seconds. What waits is put together. */
export function startForgetting({
  conntrack,
  log,
  signal,
}: {
  conntrack: Conntrack;
  log: Log;
  signal: AbortSignal;
}): (what: Forgotten | undefined) => void {
  const waiting = new Map<Family, Forgotten>();
  let isRunning = false;
  const run = async () => {
    isRunning = true;
    for (let next = waiting.values().next(); next.done !== true && !signal.aborted; next = waiting.values().next()) {
      waiting.delete(next.value.family);
      await conntrack
        .forget(next.value)
        .catch((error: unknown) => log.warn("connections were not forgotten", { reason: errorText(error) }));
    }
    isRunning = false;
  };
  return (what) => {
    if (what === undefined) return;
    const before = waiting.get(what.family) ?? { family: what.family, moved: [], added: [], waysOut: [] };
    waiting.set(what.family, {
      family: what.family,
      moved: [...new Set([...before.moved, ...what.moved])],
      added: [...new Set([...before.added, ...what.added])],
      waysOut: [...before.waysOut, ...what.waysOut],
    });
    if (!isRunning) void run();
  };
}
