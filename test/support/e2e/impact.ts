/** What a fault did to consumers, from what they saw. Pure. */

/** A connection that has ended, as the consumer program reports it. */
export interface Connection {
  /** `new`: one exchange and an orderly end. `stream`: exchanged until it ended. */
  readonly kind: "new" | "stream";
  /** The consumer's own. */
  readonly port: number;
  /** Milliseconds since 1970 when it began. */
  readonly at: number;
  /** Milliseconds until its end. */
  readonly took: number;
  /** `ok`, or in one word why not. */
  readonly result: string;
  readonly detail?: string;
  readonly exchanges?: number;
}

/** What the consumer program says about its load at one moment. */
export interface LoadState {
  readonly at: number;
  /** When those connections began that have not ended yet. */
  readonly pending: readonly number[];
  /** Established connections that exchange. */
  readonly streams: number;
}

export interface Impact {
  /** New connections that ended since the fault. */
  readonly attempts: number;
  readonly failed: readonly Connection[];
  /** Established connections that broke. */
  readonly broken: readonly Connection[];
  /** Answers with wrong bytes, on any connection. */
  readonly corrupt: number;
  /** Milliseconds from the fault until the first connection after which none failed or was slow; 0 when all went well. */
  readonly recovered: number;
  /** Longest time between two successes, in milliseconds. */
  readonly longestGap: number;
}

/** A connection that takes longer does not "succeed" for its user: the third SYN is sent after three seconds. */
const slow = 1500;

export const isGood = ({ result, took }: Connection): boolean => result === "ok" && took <= slow;
const ending = ({ at, took }: Connection): number => at + took;

/** `since`: when the fault was caused, milliseconds since 1970. */
export function impactOf(connections: readonly Connection[], since: number): Impact {
  const ended = connections.filter((each) => ending(each) >= since);
  const attempts = ended.filter(({ kind }) => kind === "new").toSorted((a, b) => a.at - b.at);
  const lastBad = attempts.findLastIndex((each) => !isGood(each));
  const firstGood = attempts[lastBad + 1];
  return {
    attempts: attempts.length,
    failed: attempts.filter(({ result }) => result !== "ok"),
    broken: ended.filter(({ kind, result }) => kind === "stream" && result !== "ok"),
    corrupt: ended.filter(({ result }) => result === "corrupt").length,
    recovered: lastBad < 0 ? 0 : firstGood === undefined ? Number.POSITIVE_INFINITY : ending(firstGood) - since,
    longestGap: longestGap(attempts, since),
  };
}

function longestGap(attempts: readonly Connection[], since: number): number {
  const successes = attempts.filter(({ result }) => result === "ok").map(ending);
  const times = [since, ...successes.toSorted((a, b) => a - b)];
  return Math.max(0, ...times.slice(1).map((time, position) => time - (times[position] ?? time)));
}

/** Whether consumers have been served without a failure for `quiet` milliseconds up to now. */
export function isCalm(connections: readonly Connection[], state: LoadState, quiet: number): boolean {
  const from = state.at - quiet;
  const recent = connections.filter((each) => each.kind === "new" && ending(each) >= from);
  return (
    recent.length >= quiet / 200 && recent.every(isGood) && state.pending.every((began) => state.at - began <= slow)
  );
}

/** `3 reset, 1 timeout`: the results of connections, counted. */
export function countsByResult(connections: readonly Connection[]): string {
  const counts = new Map<string, number>();
  for (const { result } of connections) counts.set(result, (counts.get(result) ?? 0) + 1);
  return [...counts].map(([result, count]) => `${count} ${result}`).join(", ");
}
