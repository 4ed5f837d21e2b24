import type { Pending } from "./kube-node.ts";

/** Time for which a pending Node keeps what is published for it, in milliseconds. */
const patience = 10 * 60_000;

/** Remembers since when each Node has been pending, and names those that have been for too long. `now`: milliseconds that never go back. */
export function createPendingClock(now: () => number): (pending: readonly Pending[]) => Set<string> {
  let since = new Map<string, number>();
  return (pending) => {
    since = new Map(pending.map(({ node }) => [node.name, since.get(node.name) ?? now()]));
    return new Set([...since].filter(([, at]) => now() - at >= patience).map(([name]) => name));
  };
}
