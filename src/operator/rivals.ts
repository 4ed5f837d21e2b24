import { startReflector, type WatchTiming } from "../kube/cache.ts";
import type { Kube } from "../kube/kube.ts";
import type { Lease } from "../kube/leader.ts";
import type { Log } from "../log.ts";
import type { OperatorMetrics } from "./metrics.ts";
import { guardName } from "./rbac.ts";
import { resources } from "./resources.ts";

export interface RivalsOptions {
  kube: Kube;
  metrics: OperatorMetrics;
  log: Log;
  signal: AbortSignal;
  release: string | undefined;
  /** Whether there is anybody to look for. */
  isNeeded: boolean;
  watchTiming?: Partial<WatchTiming> | undefined;
  /** Another release serves the namespace from now on, or does not any more. */
  onTaken(namespace: string): void;
  onLeft(namespace: string): void;
}

export interface Rivals {
  /** Namespaces that other releases serve. */
  ceded: Set<string>;
  /** Resolves when those that are there have been seen, or may not be. */
  known: Promise<void>;
  done: Promise<void>;
}

/** Follows the Leases by which other releases hold single namespaces. One that is not renewed in its own time counts no more, by the clock here. */
export function followRivals(options: RivalsOptions): Rivals {
  const { release, isNeeded, log } = options;
  const ceded = new Set<string>();
  if (!isNeeded || release === undefined) {
    return { ceded, known: Promise.resolve(), done: Promise.resolve() };
  }
  const seen = new Map<string, { version: string; timer?: ReturnType<typeof setTimeout> }>();

  const left = (namespace: string) => {
    if (ceded.delete(namespace) && !options.signal.aborted) {
      log.info("no other release serves the namespace any more", { namespace });
      options.onLeft(namespace);
    }
  };
  const drop = (namespace: string) => {
    clearTimeout(seen.get(namespace)?.timer);
    seen.delete(namespace);
    left(namespace);
  };
  const put = ({ metadata: { namespace = "", resourceVersion: version }, spec = {} }: Lease) => {
    // Seeing the same again is no sign of life.
    if (seen.get(namespace)?.version === version) return;
    clearTimeout(seen.get(namespace)?.timer);
    const { holderIdentity: holder = "", leaseDurationSeconds: seconds = 0 } = spec;
    if (holder === "" || holder === release) {
      seen.set(namespace, { version });
      left(namespace);
      return;
    }
    seen.set(namespace, { version, timer: setTimeout(() => left(namespace), seconds * 1000) });
    if (!ceded.has(namespace)) {
      ceded.add(namespace);
      log.warn("another release serves the namespace: it is left alone", { namespace, holder });
      options.onTaken(namespace);
    }
  };
  const reflector = startReflector<Lease>({
    ...options,
    ...(options.watchTiming === undefined ? {} : { timing: options.watchTiming }),
    resource: resources.lease,
    fieldSelector: `metadata.name=${guardName}`,
    keep: (object) => object as Lease,
    store: {
      put,
      drop: ({ metadata: { namespace = "" } }) => drop(namespace),
      replace(leases) {
        const there = new Set(leases.map(({ metadata }) => metadata.namespace ?? ""));
        for (const namespace of [...seen.keys()].filter((each) => !there.has(each))) drop(namespace);
        for (const lease of leases) put(lease);
      },
    },
  });
  return {
    ceded,
    known: reflector.firstTry,
    done: reflector.done.then(() => {
      for (const { timer } of seen.values()) clearTimeout(timer);
    }),
  };
}
