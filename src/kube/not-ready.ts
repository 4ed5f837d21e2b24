import type { Reflector } from "./cache.ts";
import type { Resource } from "./resources.ts";

/** Milliseconds of silence after which a watch is reported as not alive: several idle deadlines have passed without an answer. */
const deadAfter = 10 * 60_000;

/** Why what is followed cannot be trusted now; undefined when it can. */
export function notReadyOf(followed: readonly { resource: Resource; reflector: Reflector }[]): string | undefined {
  const unsynced = followed.find(({ reflector }) => !reflector.synced());
  if (unsynced !== undefined) {
    const reason = unsynced.reflector.failure()?.message;
    return `waiting for the first list of ${unsynced.resource.plural}${reason === undefined ? "" : `: ${reason}`}`;
  }
  const silent = followed.find(({ reflector }) => reflector.silence() > deadAfter);
  return silent === undefined ? undefined : `the watch of ${silent.resource.plural} is silent`;
}
