import { errorText } from "../errors.ts";
import { pause } from "../kube/backoff.ts";
import { ConflictError } from "../kube/errors.ts";
import type { Queue } from "../kube/queue.ts";
import type { Log } from "../log.ts";
import type { OperatorMetrics } from "./metrics.ts";
import type { ReconcileResult } from "./reconcile.ts";
import { type Key, parseKey } from "./watches.ts";

export interface ControllerOptions {
  queue: Queue;
  reconcile: (key: Key, signal: AbortSignal) => Promise<ReconcileResult>;
  /** Reconciles that run at once. */
  workers: number;
  /** All objects there are, for the first pass and for resyncs. */
  allKeys: () => Iterable<Key>;
  /** Milliseconds between two looks at everything: a net under the watches, not a way to learn of changes. */
  resync: number;
  metrics: OperatorMetrics;
  log: Log;
}

/** Works until the signal fires and the reconciles that run then have ended. */
export async function runController(options: ControllerOptions, signal: AbortSignal): Promise<void> {
  const { queue, workers, allKeys } = options;
  for (const key of allKeys()) {
    queue.add(key);
  }
  signal.addEventListener("abort", () => queue.stop(), { once: true });
  if (signal.aborted) {
    queue.stop();
  }
  await Promise.all([resyncForEver(options, signal), ...Array.from({ length: workers }, () => work(options, signal))]);
}

async function work(options: ControllerOptions, signal: AbortSignal): Promise<void> {
  const { queue } = options;
  for (let key = await queue.next(); key !== undefined; key = await queue.next()) {
    await reconcileOnce(options, key, signal);
    queue.done(key);
  }
}

async function reconcileOnce(
  { queue, reconcile, metrics, log }: ControllerOptions,
  key: Key,
  signal: AbortSignal,
): Promise<void> {
  const { kind, namespace, name } = parseKey(key);
  const measured = metrics.reconcileSeconds.startTimer({ kind });
  try {
    const { requeueAfter } = await reconcile(key, signal);
    metrics.reconciles.inc({ kind, result: "ok" });
    queue.forget(key);
    if (requeueAfter !== undefined) {
      queue.addAfter(key, requeueAfter);
    }
  } catch (error) {
    if (signal.aborted) {
      return;
    }
    const delay = Math.round(queue.addRateLimited(key));
    metrics.reconciles.inc({ kind, result: "error" });
    const fields = { object: `${namespace}/${name}`, kind, reason: errorText(error), retryMs: delay };
    // Conflicts are how concurrent writers find out about each other: nothing for a person to act on.
    if (error instanceof ConflictError) {
      log.debug("reconcile met a conflict", fields);
    } else {
      log.warn("reconcile failed", fields);
    }
  } finally {
    measured();
  }
}

async function resyncForEver({ queue, allKeys, resync }: ControllerOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(resync * (0.9 + Math.random() / 5), signal);
    for (const key of allKeys()) {
      // Spread, so that a thousand objects are not looked at in one moment.
      queue.addAfter(key, Math.random() * Math.min(resync / 10, 60_000));
    }
  }
}
