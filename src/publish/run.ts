import { hostname } from "node:os";
import { backoffDelay, pause } from "../kube/backoff.ts";
import { type Reflector, startReflector, type WatchTiming } from "../kube/cache.ts";
import type { Credentials } from "../kube/credentials.ts";
import { ApiError, CredentialsError, StoppedError, UnreachableError } from "../kube/errors.ts";
import { createEventRecorder } from "../kube/events.ts";
import { createKube, type Kube } from "../kube/kube.ts";
import { instanceName, type LeaderTiming, leaseClient, runLeader } from "../kube/leader.ts";
import { builtIn } from "../kube/resources.ts";
import { createStore, type Store } from "../kube/store.ts";
import type { Log } from "../log.ts";
import { apiGroup, fieldManager } from "../names.ts";
import { type KeptNode, type KubeNode, keepNode } from "./kube-node.ts";
import { createPublishMetrics, type PublishMetrics } from "./metrics.ts";
import type { Opened, OpenProvider } from "./open.ts";
import { type Applied, MeshError, type Picture } from "./provider.ts";
import { createTelling, type Telling } from "./telling.ts";
import { createWaker, type Waker } from "./waker.ts";

export interface PublishOptions {
  credentials: Credentials;
  open: OpenProvider;
  /** Milliseconds between passes while nothing changes. */
  interval: number;
  /** Look and say what would be written, and write nothing. */
  dryRun: boolean;
  /** Undefined: work without an election. */
  lease: { namespace: string; name: string } | undefined;
  version: string;
  log: Log;
  /** Shorter times for tests. */
  timing?: { watch?: Partial<WatchTiming>; leader?: LeaderTiming; debounce?: number; firstBackoff?: number };
}

export interface Publisher {
  /** Why it cannot do its job now; undefined when it can. A replica that waits for the lease is ready. */
  notReady(): string | undefined;
  metrics: PublishMetrics;
  /** Port on which the provider serves what is published; undefined when it serves nothing. */
  servedPort: number | undefined;
  /** Ends all work, gives the lease back and resolves when nothing runs any more. */
  stop(): Promise<void>;
}

/** Changes of Nodes within this time make one pass, in milliseconds. */
const defaultDebounce = 1000;
/** First and longest pause after a pass that failed, in milliseconds. */
const firstFailurePause = 1000;
const maxFailurePause = 60_000;

/** Publishes until `stop`, whatever the API server and the mesh do. Throws ListenError. */
export function startPublisher(options: PublishOptions): Publisher {
  const stopping = new AbortController();
  const { signal } = stopping;
  const surroundings = openSurroundings(options, { signal, serves: true });
  const { metrics, nodes, opened } = surroundings;
  let failure: Error | undefined;
  const telling = createTelling({
    recorder: createEventRecorder({
      ...{ kube: surroundings.kube, metrics, log: options.log },
      controller: `${apiGroup}/publish`,
      instance: hostname(),
    }),
    regarded: opened.regarded,
    metrics,
    log: options.log,
  });
  const lead = async (term: AbortSignal) => {
    metrics.leader.set(1);
    try {
      await publishUntil(term, { ...surroundings, options, telling }, (error) => {
        failure = error;
      });
    } finally {
      failure = undefined;
      telling.reset();
      metrics.leader.set(0);
    }
  };
  // Who does not know yet what there is must not keep another replica from working.
  const running = Promise.all([nodes.reflector.firstList, opened.synced()]).then(() => {
    if (signal.aborted) return undefined;
    return options.lease === undefined ? lead(signal) : elect(options, surroundings.kube, signal, lead);
  });
  return {
    notReady: () => {
      if (signal.aborted) return "stopping";
      const { reflector } = nodes;
      const reading = `reading nodes: ${reflector.failure()?.message ?? "no answer yet"}`;
      return reflector.synced() ? opened.notReady(failure) : reading;
    },
    metrics,
    servedPort: opened.servedPort,
    async stop() {
      stopping.abort();
      await Promise.all([running, nodes.reflector.done, opened.stop()]);
    },
  };
}

interface Surroundings {
  kube: Kube;
  metrics: PublishMetrics;
  nodes: { store: Store<KeptNode>; reflector: Reflector };
  opened: Opened;
  waker: Waker;
}

function openSurroundings(
  { credentials, version, log, timing = {}, open }: PublishOptions,
  { signal, serves }: { signal: AbortSignal; serves: boolean },
): Surroundings {
  const metrics = createPublishMetrics();
  const kube = createKube({ credentials, metrics, userAgent: `netaminity-publish/${version}`, fieldManager });
  const waker = createWaker();
  const watch = timing.watch ?? {};
  const opened = open({ kube, metrics, log, signal, serves, wake: waker.wake, timing: watch });
  const store = createStore<KeptNode>({
    // Most changes of a Node are heartbeats.
    onChange: ({ before, after }) => {
      if (!Bun.deepEquals(before?.node, after?.node)) waker.wake();
    },
  });
  const reflector = startReflector<KeptNode>({
    ...{ kube, metrics, log, store, signal, timing: watch },
    resource: builtIn.node,
    keep: keepNode,
  });
  return { kube, metrics, nodes: { store, reflector }, opened, waker };
}

const nodesIn = (store: Store<KeptNode>): KubeNode[] => [...store.values()].map(({ node }) => node);

function elect(
  { lease, log, timing }: PublishOptions,
  kube: Kube,
  signal: AbortSignal,
  lead: (term: AbortSignal) => Promise<void>,
): Promise<void> {
  return runLeader({
    client: leaseClient(kube, lease?.namespace ?? "", lease?.name ?? ""),
    identity: instanceName(),
    ...{ log, signal, lead },
    ...(timing?.leader === undefined ? {} : { timing: timing.leader }),
  });
}

interface Context extends Surroundings {
  options: PublishOptions;
  telling: Telling;
}

async function publishUntil(term: AbortSignal, context: Context, onResult: (failure: Error | undefined) => void) {
  const { interval, timing = {} } = context.options;
  const { debounce = defaultDebounce, firstBackoff: first = firstFailurePause } = timing;
  const cap = Math.max(first, Math.min(interval, maxFailurePause));
  let failures = 0;
  while (!term.aborted) {
    context.waker.take();
    const failure = await onePass(term, context);
    if (term.aborted) return;
    onResult(failure);
    failures = failure === undefined ? 0 : failures + 1;
    context.telling.result(failure, failures);
    if (failure === undefined) {
      await context.waker.wait(interval, term);
      await pause(debounce, term);
    } else {
      await pause(backoffDelay(failures, { first, cap }), term);
    }
  }
}

/** Looks and writes once; returns what failed, and undefined when nothing did or the term ended. */
async function onePass(term: AbortSignal, context: Context): Promise<Error | undefined> {
  const { metrics, telling, opened, options } = context;
  const began = performance.now();
  let failure: Error | undefined;
  try {
    const picture = await opened.provider.look({ nodes: nodesIn(context.nodes.store), signal: term });
    telling.picture(picture);
    if (options.dryRun) {
      telling.wouldWrite(picture);
    } else {
      const applied = await picture.apply(term);
      telling.applied(applied);
      failure = applied.failures[0];
    }
  } catch (error) {
    if (error instanceof StoppedError && term.aborted) return undefined;
    // Anything else is a defect, and ends the process.
    if (!isExpected(error)) throw error;
    failure = error;
  }
  metrics.passSeconds.observe((performance.now() - began) / 1000);
  metrics.passes.inc({ result: failure === undefined ? "ok" : "error" });
  if (failure === undefined) metrics.lastSuccess.set(Date.now() / 1000);
  return failure;
}

const expected = [MeshError, ApiError, UnreachableError, CredentialsError, StoppedError];

function isExpected(error: unknown): error is Error {
  return expected.some((kind) => error instanceof kind);
}

export interface Once {
  picture: Picture;
  /** Undefined when nothing was to be written. */
  applied: Applied | undefined;
}

/** Longest wait for what there is, in milliseconds. */
const onceTimeout = 30_000;

/** One look, and the writes unless it is a dry run. Throws the errors of look and apply, and Error when what there is cannot be read in time. */
export async function publishOnce(options: PublishOptions): Promise<Once> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { nodes, opened } = openSurroundings(options, { signal, serves: false });
  try {
    const late = pause(onceTimeout, signal).then(() => "late");
    const known = Promise.all([nodes.reflector.firstTry, opened.synced()]).then(() => "known");
    if ((await Promise.race([known, late])) === "late" || !nodes.reflector.synced()) {
      throw (
        nodes.reflector.failure() ?? new Error(opened.notReady(undefined) ?? "the list of Nodes did not come in time")
      );
    }
    const picture = await opened.provider.look({ nodes: nodesIn(nodes.store), signal });
    return { picture, applied: options.dryRun ? undefined : await picture.apply(signal) };
  } finally {
    stopping.abort();
    await Promise.all([nodes.reflector.done, opened.stop()]);
  }
}
