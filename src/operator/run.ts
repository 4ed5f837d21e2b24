import { hostname } from "node:os";
import { Fingerprints } from "../fingerprint.ts";
import type { WatchTiming } from "../kube/cache.ts";
import type { Credentials } from "../kube/credentials.ts";
import { createEventRecorder } from "../kube/events.ts";
import { createKube, type Kube } from "../kube/kube.ts";
import { instanceName, type LeaderTiming, leaseClient, runLeader } from "../kube/leader.ts";
import { createQueue, type Queue } from "../kube/queue.ts";
import type { Log } from "../log.ts";
import { apiGroup, fieldManager, labels } from "../names.ts";
import type { PlanSettings, ProxyInput } from "../plan/observed.ts";
import { type ProbeAddress, podsToProbe } from "../plan/pods-to-probe.ts";
import { type Caches, ofWorkload, startCaches } from "./caches.ts";
import { runController } from "./controller.ts";
import { createExecutor } from "./execute.ts";
import { type Guard, startGuard } from "./guard.ts";
import type { CachedProxy, CachedTarget, CachedTunnel } from "./keep.ts";
import { createOperatorMetrics, type OperatorMetrics } from "./metrics.ts";
import { createProber, type Prober, type ProbeTiming } from "./prober.ts";
import { leaseName } from "./rbac.ts";
import { createReconcile } from "./reconcile.ts";
import { createRollouts, type Rollouts } from "./rollouts.ts";
import { createSecretWatches, type SecretWatches } from "./secret-watches.ts";
import { type Key, keyFor, keysOf, parseKey } from "./watches.ts";

export interface OperatorOptions {
  credentials: Credentials;
  settings: PlanSettings;
  /** Namespaces to serve; empty: all. */
  namespaces: readonly string[];
  workers: number;
  /** Namespace of the Lease; undefined: work without an election. */
  leaseNamespace: string | undefined;
  version: string;
  log: Log;
  /** Secrets of users that are watched, each by a request of its own; a smaller number for tests. */
  maxSecretWatches?: number;
  /** Shorter times for tests. */
  timing?: {
    watch?: Partial<WatchTiming>;
    leader?: LeaderTiming;
    guard?: LeaderTiming;
    resync?: number;
    probe?: Partial<ProbeTiming>;
  };
}

export interface Operator {
  /** Why it cannot do its job now; undefined when it can. A replica that waits for the lease is ready. */
  notReady(): string | undefined;
  /** Looks at everything again now. */
  resync(): void;
  metrics: OperatorMetrics;
  /** Ends all work, gives the lease back and resolves when nothing runs any more. */
  stop(): Promise<void>;
}

const defaultResync = 10 * 60_000;

/** Starts the operator; it runs until `stop`, whatever the API server does. */
export function startOperator(options: OperatorOptions): Operator {
  const { log, timing = {}, credentials, settings, version } = options;
  let queue: Queue | undefined;
  const metrics = createOperatorMetrics(() => (queue === undefined ? [] : ownObjects(caches)));
  const kube = createKube({ credentials, metrics, userAgent: `netaminity-operator/${version}`, fieldManager });
  const stopping = new AbortController();
  const { signal } = stopping;
  let isOverdue = false;
  let rollouts: Rollouts | undefined;

  const cacheOptions = {
    kube,
    metrics,
    log,
    signal,
    timing: timing.watch ?? {},
    onChange: (change: Parameters<typeof keysOf>[0], origin: Parameters<typeof keysOf>[1]) => {
      followSecrets(secrets, change);
      rollouts?.onChange(change);
      for (const key of keysOf(change, origin, caches)) {
        queue?.add(key);
      }
    },
  };
  const caches: Caches = startCaches({ ...cacheOptions, namespaces: options.namespaces });
  const { maxSecretWatches: maxWatches } = options;
  const secrets = createSecretWatches(
    { ...cacheOptions, ...(maxWatches === undefined ? {} : { maxWatches }) },
    () => caches,
  );
  const prober = createProber({
    addresses: () => probeAddresses(caches),
    onChange: (podUid) => {
      const key = proxyOfPod(caches, podUid);
      if (key !== undefined) {
        queue?.add(key);
      }
    },
    // A replica that waits begins once the leader is late: with the node that is lost its pods may be too, which the successor has to know at once.
    isLeading: () => queue !== undefined || isOverdue,
    metrics,
    ...(timing.probe === undefined ? {} : { timing: timing.probe }),
  });

  let guard: Guard | undefined;
  const lead = async (term: AbortSignal) => {
    const current = createQueue({ onDepth: (depth) => metrics.queueDepth.set(depth) });
    queue = current;
    rollouts = createRollouts({ caches, settings, metrics, wake: (key) => current.add(key) });
    metrics.leader.set(1);
    guard = startGuard({
      ...{ kube, metrics, log, signal: term, namespaces: options.namespaces, release: options.leaseNamespace },
      known: caches.known,
      onServed: (namespace) => {
        for (const key of allKeys(caches)) {
          if (namespace === undefined || parseKey(key).namespace === namespace) {
            current.add(key);
          }
        }
      },
      timing: timing.guard,
      watchTiming: timing.watch,
    });
    try {
      const context = { kube, caches, secrets, prober, metrics, guard, rollouts, queue: current, term };
      await Promise.all([work({ ...options, ...context }), guard.done]);
    } finally {
      queue = undefined;
      rollouts = undefined;
      guard = undefined;
      metrics.leader.set(0);
    }
  };
  // Who does not know yet what there is must not keep another replica from working.
  const overdue = (now: boolean) => {
    isOverdue = now;
  };
  const electing = caches
    .synced()
    .then(() => (signal.aborted ? undefined : elect({ ...options, kube, signal, lead, overdue })));
  const running = Promise.all([electing, prober.run(signal)]);
  return {
    notReady: () => (signal.aborted ? "stopping" : (caches.notReady() ?? guard?.notReady())),
    resync: () => {
      for (const key of allKeys(caches)) {
        queue?.add(key);
      }
    },
    metrics,
    async stop() {
      stopping.abort();
      await Promise.all([running, caches.done]);
    },
  };
}

interface ElectOptions extends OperatorOptions {
  kube: Kube;
  signal: AbortSignal;
  lead: (term: AbortSignal) => Promise<void>;
  overdue: (isOverdue: boolean) => void;
}

function elect({ kube, signal, lead, overdue, log, leaseNamespace, timing }: ElectOptions): Promise<void> {
  if (leaseNamespace === undefined) {
    return lead(signal);
  }
  return runLeader({
    client: leaseClient(kube, leaseNamespace, leaseName),
    identity: instanceName(),
    log,
    signal,
    lead,
    overdue,
    ...(timing?.leader === undefined ? {} : { timing: timing.leader }),
  });
}

interface WorkOptions extends OperatorOptions {
  kube: Kube;
  caches: Caches;
  secrets: SecretWatches;
  prober: Prober;
  metrics: OperatorMetrics;
  guard: Guard;
  rollouts: Rollouts;
  queue: Queue;
  term: AbortSignal;
}

/** Reconciles until the term ends. */
async function work({
  kube,
  caches,
  secrets,
  prober,
  metrics,
  guard,
  rollouts,
  queue,
  term,
  log,
  settings,
  workers,
  timing = {},
}: WorkOptions): Promise<void> {
  const reconcile = createReconcile({
    sources: { caches, secrets, fingerprints: new Fingerprints(10_000), probes: prober, settings },
    rollouts,
    executor: createExecutor(kube, caches),
    events: createEventRecorder({ kube, metrics, log, controller: `${apiGroup}/operator`, instance: hostname() }),
  });
  const controller = {
    queue,
    reconcile: async (key: Key, signal: AbortSignal) =>
      (await guard.within(parseKey(key).namespace, signal, (own) => reconcile(key, own))) ?? {},
    workers,
    metrics,
    log,
    resync: timing.resync ?? defaultResync,
    allKeys: () => allKeys(caches),
  };
  await runController(controller, term);
}

function* ownObjects({ tunnels, proxies, targets }: Caches): Iterable<CachedTunnel | CachedProxy | CachedTarget> {
  for (const store of [tunnels, proxies, targets]) yield* store.values();
}

function* allKeys(caches: Caches): Iterable<Key> {
  for (const { kind, metadata } of ownObjects(caches)) yield keyFor(kind, metadata.namespace, metadata.name);
}

function probeAddresses(caches: Caches): ProbeAddress[] {
  const addresses: ProbeAddress[] = [];
  for (const proxy of caches.proxies.values()) {
    const { namespace, name } = proxy.metadata;
    const pods = caches.pods.indexed(ofWorkload(labels.proxy, namespace, name));
    addresses.push(...podsToProbe({ proxy, pods } satisfies Pick<ProxyInput, "proxy" | "pods">));
  }
  return addresses;
}

function proxyOfPod({ pods }: Caches, podUid: string): Key | undefined {
  for (const pod of pods.values()) {
    const proxy = pod.metadata.uid === podUid ? pod.metadata.labels?.[labels.proxy] : undefined;
    if (proxy !== undefined) {
      return keyFor("Proxy", pod.metadata.namespace ?? "", proxy);
    }
  }
  return undefined;
}

function followSecrets(secrets: SecretWatches, { before, after }: Parameters<typeof keysOf>[0]): void {
  const isUser = (after ?? before)?.kind;
  if (isUser === "Proxy" || isUser === "Target") {
    secrets.follow(before as Parameters<SecretWatches["follow"]>[0], after as Parameters<SecretWatches["follow"]>[1]);
  }
}
