import { errorText } from "../errors.ts";
import { RefusedError } from "../kube/errors.ts";
import type { Kube } from "../kube/kube.ts";
import { type LeaderTiming, leaseClient, runLeader } from "../kube/leader.ts";
import type { Log } from "../log.ts";
import { guardName, guardNamespace } from "./rbac.ts";

/** Slower than the election: within a release nobody waits for it. */
const guardTiming: LeaderTiming = { duration: 15_000, renewDeadline: 10_000, retry: 3000 };

export interface GuardOptions {
  kube: Kube;
  log: Log;
  signal: AbortSignal;
  /** Namespaces that are served; empty: all. */
  namespaces: readonly string[];
  /** Namespace of this release: what it is known by. */
  release: string;
  timing?: LeaderTiming | undefined;
  /** Works until the signal fires. */
  work: (signal: AbortSignal) => Promise<void>;
}

export interface Guard {
  /** The other release that serves what is to be served here; undefined when there is none. */
  holder(): string | undefined;
  /** Resolves when the signal has ended it. */
  done: Promise<void>;
}

/**
 * Two releases that serve the same objects would undo each other's work without end. So whoever works holds a Lease at a place that every release for these objects
 * knows: one in each namespace that is served, or one for the cluster. Its holder is a release, not a pod: a successor in the same release takes it at once, and one of
 * another release waits. They are taken in one order, so that two never wait for each other.
 */
export function startGuard({
  kube,
  log,
  signal,
  namespaces,
  release,
  timing = guardTiming,
  work,
}: GuardOptions): Guard {
  const places = namespaces.length === 0 ? [guardNamespace] : namespaces.toSorted();
  let holder: string | undefined;
  const from = async (index: number, term: AbortSignal): Promise<void> => {
    const namespace = places[index];
    if (namespace === undefined) return work(term);
    const client = leaseClient(kube, namespace, guardName);
    try {
      await client.read();
    } catch (error) {
      // Anything else may pass: the campaign goes on trying.
      if (error instanceof RefusedError) {
        log.warn("cannot see whether another release serves this", { namespace, reason: errorText(error) });
        return from(index + 1, term);
      }
    }
    await runLeader({
      client: {
        ...client,
        async read() {
          const lease = await client.read();
          const other = lease?.spec?.holderIdentity || undefined;
          const found = other === undefined || other === release ? undefined : other;
          if (found !== undefined && found !== holder) {
            log.warn("another release serves this: waiting until it ends", { holder: found, namespace });
          }
          holder = found;
          return lease;
        },
      },
      identity: release,
      log: log.child({ guard: namespace }),
      signal: term,
      lead: (inner) => from(index + 1, inner),
      timing,
    });
  };
  return { holder: () => holder, done: from(0, signal) };
}
