import type { WatchTiming } from "../kube/cache.ts";
import { RefusedError } from "../kube/errors.ts";
import type { Kube } from "../kube/kube.ts";
import { type LeaderTiming, type LeaseClient, leaseClient, runLeader } from "../kube/leader.ts";
import type { Log } from "../log.ts";
import type { OperatorMetrics } from "./metrics.ts";
import { clusterGuard, guardName } from "./rbac.ts";
import { followRivals } from "./rivals.ts";
import { createRunning } from "./running.ts";

/** Slower than the election: within a release nobody waits for it. */
const guardTiming: LeaderTiming = { duration: 15_000, renewDeadline: 10_000, retry: 3000 };

export interface GuardOptions {
  kube: Kube;
  metrics: OperatorMetrics;
  log: Log;
  signal: AbortSignal;
  /** Namespaces that are served; empty: all. */
  namespaces: readonly string[];
  /** Namespace of this release: what it is known by. Undefined: no other is looked for. */
  release: string | undefined;
  /** Resolves when all that there is in the namespace has been listed. */
  known(namespace: string): Promise<void>;
  /** What is in the namespace (undefined: in any) may be worked on from now on. */
  onServed(namespace: string | undefined): void;
  timing?: LeaderTiming | undefined;
  watchTiming?: Partial<WatchTiming> | undefined;
}

export interface Guard {
  /** Works in a namespace while it is ours to serve. Undefined when it is not, or is no more before the work has ended. */
  within<T>(namespace: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined>;
  /** Which other release serves what is to be served here; undefined when there is none. */
  notReady(): string | undefined;
  /** Resolves when the signal has ended it. */
  done: Promise<void>;
}

/** Stands for all namespaces: the guard of a release that serves them all. */
const everywhere = "";

/**
 * Two releases that serve the same objects would undo each other's work without end. So whoever works holds a Lease at a place that every release for these
 * objects knows: one in each namespace that is served, or one for the cluster. Its holder is a release, not a pod: a successor in the same release takes it at
 * once, and one of another release waits. A release for the whole cluster leaves alone the namespaces whose own Lease another release holds. Each namespace is
 * by itself: one that cannot be read yet, or is another's, keeps no other waiting.
 */
export function startGuard(options: GuardOptions): Guard {
  const { kube, log, signal, namespaces, release, metrics } = options;
  const places = namespaces.length === 0 ? [everywhere] : namespaces;
  const held = new Set<string>();
  /** Places whose Lease another release holds, and which. */
  const rivals = new Map<string, string>();
  const unreadable = new Set(places.filter((place) => place !== everywhere));
  const running = createRunning();

  const tell = () => {
    metrics.namespacesLeftAlone.set({ reason: "unreadable" }, unreadable.size);
    metrics.namespacesLeftAlone.set({ reason: "other-release" }, rivals.size + ceded.size);
  };
  const { ceded, ...others } = followRivals({
    ...options,
    // Only who serves the whole cluster can meet somebody who serves a part of it.
    isNeeded: namespaces.length === 0,
    onTaken(namespace) {
      tell();
      void running.leave((each) => each === namespace);
    },
    onLeft(namespace) {
      tell();
      options.onServed(namespace);
    },
  });

  const seen = (place: string, holder: string | undefined) => {
    if (holder === undefined) rivals.delete(place);
    else if (rivals.get(place) !== holder) {
      log.warn("another release serves this: waiting until it ends", { holder, namespace: place || "all" });
      rivals.set(place, holder);
    }
    tell();
  };
  const serve = async (place: string, term: AbortSignal) => {
    rivals.delete(place);
    held.add(place);
    tell();
    options.onServed(place === everywhere ? undefined : place);
    await fired(term);
    held.delete(place);
    await running.leave((namespace) => place === everywhere || place === namespace);
  };
  const campaign = async (place: string) => {
    await Promise.race([place === everywhere ? others.known : options.known(place), fired(signal)]);
    unreadable.delete(place);
    tell();
    if (signal.aborted) return;
    if (release === undefined) return serve(place, signal);
    const { name, namespace } = place === everywhere ? clusterGuard : { name: guardName, namespace: place };
    const client = leaseClient(kube, namespace, name);
    const refusal = await refusalOf(client);
    if (refusal !== undefined) {
      // Roles that somebody made by hand for an earlier version: to stop serving for it would be worse.
      log.warn("cannot see whether another release serves this", { namespace, reason: refusal });
      return serve(place, signal);
    }
    await runLeader({
      client: watched(client, release, (holder) => seen(place, holder)),
      identity: release,
      log: log.child({ guard: namespace }),
      signal,
      lead: (term) => serve(place, term),
      timing: options.timing ?? guardTiming,
    });
  };
  tell();
  const serves = (namespace: string) => held.has(namespace) || (held.has(everywhere) && !ceded.has(namespace));
  return {
    within: async (namespace, outer, work) => (serves(namespace) ? running.run(namespace, outer, work) : undefined),
    notReady() {
      for (const [place, holder] of rivals) {
        const what = place === everywhere ? "all namespaces" : `namespace ${place}`;
        return `the release in namespace ${holder} serves ${what} already`;
      }
      return undefined;
    },
    done: Promise.all([...places.map(campaign), others.done]).then(() => {
      rivals.clear();
      unreadable.clear();
      ceded.clear();
      tell();
    }),
  };
}

/** Tells the other release that holds the Lease, or that none does, with each read. */
function watched(client: LeaseClient, release: string, seen: (holder: string | undefined) => void): LeaseClient {
  return {
    ...client,
    async read() {
      const lease = await client.read();
      const holder = lease?.spec?.holderIdentity || undefined;
      seen(holder === release ? undefined : holder);
      return lease;
    },
  };
}

async function refusalOf(client: LeaseClient): Promise<string | undefined> {
  try {
    await client.read();
  } catch (error) {
    // Anything else may pass: the campaign goes on trying.
    if (error instanceof RefusedError) return error.message;
  }
  return undefined;
}

function fired(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (signal.aborted) resolve();
  return promise;
}
