import { hostname } from "node:os";
import { errorText } from "../errors.ts";
import type { Log } from "../log.ts";
import { pause } from "./backoff.ts";
import { ConflictError, NotFoundError } from "./errors.ts";
import { microTime } from "./events.ts";
import type { Kube, KubeObject } from "./kube.ts";
import { builtIn } from "./resources.ts";

export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}
export type Lease = KubeObject & { spec?: LeaseSpec };

/** The one Lease by which replicas agree on who works. All methods throw the errors of `Kube`. */
export interface LeaseClient {
  read(): Promise<Lease | undefined>;
  create(spec: LeaseSpec): Promise<Lease>;
  /** Throws ConflictError when somebody else wrote meanwhile. */
  update(lease: Lease, spec: LeaseSpec): Promise<Lease>;
}

export interface LeaderTiming {
  /** Milliseconds for which a lease holds after it was last renewed. */
  duration: number;
  /** Milliseconds without a renewal after which the holder itself stops working; less than `duration`, so that two never work at once. */
  renewDeadline: number;
  /** Milliseconds between tries. */
  retry: number;
}

/**
 * Much shorter than usual, because the node that is lost may have run the leader: its successor moves the rendezvous. A lease that is lost during a hiccup of
 * the API server costs nothing, since only reconciling stops.
 */
const defaultLeaderTiming: LeaderTiming = { duration: 3000, renewDeadline: 2000, retry: 500 };

/** Who a replica is: tells those on one host (tests, host network) apart too. */
export const instanceName = () => `${hostname()}_${crypto.randomUUID().slice(0, 8)}`;

export interface LeaderOptions {
  client: LeaseClient;
  identity: string;
  timing?: LeaderTiming;
  log: Log;
  signal: AbortSignal;
  /** Told while waiting whether the holder is late (it may be lost, and its successor can prepare), and at the beginning of a term that it is not. */
  overdue?: (isOverdue: boolean) => void;
  /** Works until the signal fires, which it does when the lease is lost or the process stops. */
  lead: (signal: AbortSignal) => Promise<void>;
}

/**
 * Campaigns for ever: waits for the lease, works while it is held, stops working when it cannot be renewed, and campaigns again. The loss of the API
 * server ends the work, never the process. Clocks of replicas are not compared: what counts is how long the lease has not changed as seen from here.
 */
export async function runLeader(options: LeaderOptions): Promise<void> {
  const { signal, log, identity, timing = defaultLeaderTiming } = options;
  const seen: Seen = { version: "", at: performance.now(), duration: 0 };
  while (!signal.aborted) {
    const lease = await campaign(options, timing, seen);
    if (lease === undefined) {
      return;
    }
    log.info("leading", { identity });
    await hold(options, timing, lease);
    if (!signal.aborted) {
      log.warn("no longer leading, campaigning again", { identity });
    }
  }
}

interface Seen {
  version: string;
  /** When that version was seen first. */
  at: number;
  /** Milliseconds for which it holds from then on. */
  duration: number;
}

/** Tries until the lease is ours; undefined when the signal fires first. */
async function campaign(
  { client, identity, signal, log, overdue }: LeaderOptions,
  timing: LeaderTiming,
  seen: Seen,
): Promise<Lease | undefined> {
  let failure = "";
  while (!signal.aborted) {
    try {
      const lease = await tryAcquire(client, identity, timing, seen);
      overdue?.(lease === undefined && performance.now() - seen.at > timing.duration / 2);
      if (lease !== undefined) {
        return lease;
      }
      failure = "";
    } catch (error) {
      const text = errorText(error);
      if (!(error instanceof ConflictError) && text !== failure) {
        log.warn("cannot campaign for the lease, trying again", { reason: text });
      }
      failure = text;
    }
    const untilFree = seen.at + seen.duration - performance.now();
    const retry = timing.retry * (0.75 + Math.random() / 2);
    await pause(untilFree > 0 ? Math.min(retry, untilFree) : retry, signal);
  }
  return undefined;
}

async function tryAcquire(
  client: LeaseClient,
  identity: string,
  timing: LeaderTiming,
  seen: Seen,
): Promise<Lease | undefined> {
  const lease = await client.read();
  const now = microTime(Date.now());
  const spec = {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(timing.duration / 1000),
    acquireTime: now,
    renewTime: now,
  };
  if (lease === undefined) {
    return client.create({ ...spec, leaseTransitions: 0 });
  }
  const { resourceVersion } = lease.metadata;
  if (resourceVersion !== seen.version) {
    seen.version = resourceVersion;
    seen.at = performance.now();
  }
  const holder = lease.spec?.holderIdentity ?? "";
  seen.duration = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
  if (holder !== "" && holder !== identity && performance.now() - seen.at < seen.duration) {
    return undefined;
  }
  return client.update(lease, { ...spec, leaseTransitions: (lease.spec?.leaseTransitions ?? 0) + 1 });
}

/** Works while the lease is renewed. Gives it back at the end, so that another replica need not wait. */
async function hold(options: LeaderOptions, timing: LeaderTiming, acquired: Lease): Promise<void> {
  const { client, signal } = options;
  const term = new AbortController();
  const stop = () => term.abort();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) {
    // It fired while the lease was being acquired.
    stop();
  }
  const working = term.signal.aborted ? Promise.resolve() : options.lead(term.signal).finally(stop);
  const lease = await renewUntilLost(options, timing, acquired, term.signal);
  stop();
  await working;
  signal.removeEventListener("abort", stop);
  if (lease !== undefined) {
    await client
      .update(lease, { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1 })
      .catch((error: unknown) => {
        options.log.debug("lease not given back", { reason: errorText(error) });
      });
  }
}

/** Renews until the term ends or renewing has failed for too long. Returns the lease if it is still ours. */
async function renewUntilLost(
  { client, log, identity }: LeaderOptions,
  timing: LeaderTiming,
  acquired: Lease,
  term: AbortSignal,
) {
  let lease = acquired;
  let renewed = performance.now();
  while (!term.aborted) {
    await pause(timing.retry, term);
    if (term.aborted) {
      return lease;
    }
    const began = performance.now();
    try {
      const remaining = timing.renewDeadline - (began - renewed);
      lease = await within(remaining, client.update(lease, { ...lease.spec, renewTime: microTime(Date.now()) }));
      renewed = began;
    } catch (error) {
      const current =
        error instanceof ConflictError || error instanceof NotFoundError
          ? await client.read().catch(() => lease)
          : lease;
      if (current === undefined || current.spec?.holderIdentity !== identity) {
        log.warn("the lease belongs to somebody else now", { holder: current?.spec?.holderIdentity });
        return undefined;
      }
      lease = current;
      if (performance.now() - renewed > timing.renewDeadline - timing.retry) {
        log.warn("the lease could not be renewed in time", { reason: errorText(error) });
        return undefined;
      }
    }
  }
  return lease;
}

/** The result, or a rejection when it does not come in time. */
async function within<T>(milliseconds: number, result: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${Math.round(milliseconds)} ms`)), milliseconds);
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Milliseconds. One that is not answered may be on a connection that leads to a node that is lost. */
const requestTimeout = 2000;

/** The lease `name` in `namespace`. */
export function leaseClient(kube: Kube, namespace: string, name: string): LeaseClient {
  const { lease: resource } = builtIn;
  const object = (spec: LeaseSpec, resourceVersion?: string) => ({
    apiVersion: resource.apiVersion,
    kind: resource.kind,
    metadata: { name, namespace, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    spec,
  });
  const place = { resource, namespace, timeout: requestTimeout };
  return {
    async read() {
      try {
        return await kube.request<Lease>({ ...place, verb: "get", name });
      } catch (error) {
        if (error instanceof NotFoundError) {
          return undefined;
        }
        throw error;
      }
    },
    create: (spec) => kube.request({ ...place, verb: "create", body: object(spec) }),
    update: (lease, spec) =>
      kube.request({ ...place, verb: "update", name, body: object(spec, lease.metadata.resourceVersion) }),
  };
}
