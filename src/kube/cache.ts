import type { Log } from "../log.ts";
import { backoffDelay, pause } from "./backoff.ts";
import { ApiError, GoneError, RefusedError, StoppedError, UnreachableError } from "./errors.ts";
import type { Kube, KubeObject } from "./kube.ts";
import type { KubeMetrics } from "./metrics.ts";
import type { Resource } from "./resources.ts";
import type { Store } from "./store.ts";
import { createLineSplitter, parseWatchEvent, watchError } from "./watch-stream.ts";

/** How one collection is followed. */
export interface ReflectorOptions<T extends KubeObject> {
  kube: Kube;
  metrics: Pick<KubeMetrics, "watchRestarts">;
  log: Log;
  resource: Resource;
  /** Absent: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Ask for the metadata alone. */
  metadataOnly?: boolean;
  /** Cuts an object down to what is worth its memory. */
  keep: (object: KubeObject) => T;
  store: Pick<Store<T>, "put" | "drop" | "replace">;
  signal: AbortSignal;
  timing?: Partial<WatchTiming>;
}

export interface WatchTiming {
  /** Seconds after which the server is asked to end each watch, at least; up to twice as long at random. */
  watchSeconds: number;
  /** Milliseconds without a byte after which a watch counts as dead. The server sends a bookmark about once a minute. */
  idle: number;
  /** First and longest pause between failed tries, in milliseconds. */
  firstBackoff: number;
  maxBackoff: number;
}

/** One followed collection. */
export interface Reflector {
  /** The first list has arrived. */
  synced(): boolean;
  /** Resolves when it has, or when the signal fires. */
  firstList: Promise<void>;
  /** Resolves when it has, when it was refused for good as far as is known, or when the signal fires. */
  firstTry: Promise<void>;
  /** Milliseconds since the server last told us anything. */
  silence(): number;
  /** Why the last try failed; undefined while all is well. */
  failure(): Error | undefined;
  /** Resolves when the signal has ended it. */
  done: Promise<void>;
}

const defaultWatchTiming: WatchTiming = {
  watchSeconds: 240,
  idle: 150_000,
  firstBackoff: 250,
  maxBackoff: 30_000,
};
const pageSize = "500";
const listTimeout = 60_000;

/**
 * Follows a collection for ever: a list in pages, then watches with bookmarks from its resource version. A watch that ends, falls silent or
 * breaks is started again where it stopped; only 410 asks for a new list. Nothing makes it give up but the signal.
 */
export function startReflector<T extends KubeObject>(options: ReflectorOptions<T>): Reflector {
  const timing = { ...defaultWatchTiming, ...options.timing };
  const first = Promise.withResolvers<void>();
  const tried = Promise.withResolvers<void>();
  const state = { synced: false, heard: performance.now(), failure: undefined as Error | undefined };
  const heard = () => {
    state.heard = performance.now();
    state.failure = undefined;
  };
  const run = async () => {
    let version: string | undefined;
    let failures = 0;
    while (!options.signal.aborted) {
      try {
        if (version === undefined) {
          version = await list(options);
          state.synced = true;
          first.resolve();
          tried.resolve();
          heard();
        }
        const began = performance.now();
        const seen = await watch(options, timing, version, (bookmark) => {
          version = bookmark;
          failures = 0;
          heard();
        });
        options.metrics.watchRestarts.inc({ resource: options.resource.plural, cause: "end" });
        heard();
        // A server that ends watches at once must not be asked in a tight loop.
        failures = seen === 0 && performance.now() - began < timing.firstBackoff ? failures + 1 : 0;
      } catch (error) {
        if (options.signal.aborted) {
          return;
        }
        failures += 1;
        version = report(options, state, error) === "gone" ? undefined : version;
        if (error instanceof RefusedError) {
          tried.resolve();
        }
      }
      if (failures > 0) {
        await pause(backoffDelay(failures, { first: timing.firstBackoff, cap: timing.maxBackoff }), options.signal);
      }
    }
  };
  return {
    synced: () => state.synced,
    silence: () => performance.now() - state.heard,
    failure: () => state.failure,
    firstList: first.promise,
    firstTry: tried.promise,
    done: run().finally(() => {
      first.resolve();
      tried.resolve();
    }),
  };
}

/** Counts and logs a failure, once per change of its text. */
function report<T extends KubeObject>(
  options: ReflectorOptions<T>,
  state: { failure: Error | undefined },
  cause: unknown,
) {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  const gone = error instanceof GoneError;
  const kind = gone ? "gone" : error instanceof IdleError ? "idle" : "error";
  options.metrics.watchRestarts.inc({ resource: options.resource.plural, cause: kind });
  if (!gone && state.failure?.message !== error.message) {
    options.log.warn("watch failed, trying again", { resource: options.resource.plural, reason: error.message });
  }
  state.failure = gone ? undefined : error;
  return kind;
}

class IdleError extends UnreachableError {}

function placeOf<T extends KubeObject>(options: ReflectorOptions<T>) {
  return { resource: options.resource, ...(options.namespace === undefined ? {} : { namespace: options.namespace }) };
}

function selectorsOf<T extends KubeObject>({
  labelSelector,
  fieldSelector,
}: ReflectorOptions<T>): Record<string, string> {
  return {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}

function acceptOf<T extends KubeObject>({ metadataOnly }: ReflectorOptions<T>, kind: string) {
  return metadataOnly === true ? { accept: `application/json;as=${kind};g=meta.k8s.io;v=v1` } : {};
}

interface ListBody {
  metadata: { resourceVersion: string; continue?: string };
  items?: KubeObject[];
}

/** Reads the whole collection into the store and returns the resource version to watch from. */
async function list<T extends KubeObject>(options: ReflectorOptions<T>): Promise<string> {
  const objects: T[] = [];
  let next: string | undefined;
  for (;;) {
    const page: ListBody = await options.kube.request<ListBody>({
      verb: "list",
      ...placeOf(options),
      ...acceptOf(options, "PartialObjectMetadataList"),
      query: { limit: pageSize, ...selectorsOf(options), ...(next === undefined ? {} : { continue: next }) },
      signal: options.signal,
      timeout: listTimeout,
    });
    for (const item of page.items ?? []) {
      objects.push(options.keep(item));
    }
    if (page.metadata.continue === undefined || page.metadata.continue === "") {
      options.store.replace(objects, options.namespace);
      return page.metadata.resourceVersion;
    }
    next = page.metadata.continue;
  }
}

/** Follows one watch to its end and returns how many events it brought. Throws GoneError, IdleError or UnreachableError. */
async function watch<T extends KubeObject>(
  options: ReflectorOptions<T>,
  timing: WatchTiming,
  version: string,
  advance: (version: string) => void,
): Promise<number> {
  const abort = new AbortController();
  const stop = () => abort.abort();
  options.signal.addEventListener("abort", stop, { once: true });
  if (options.signal.aborted) {
    // It fired while the list came in.
    stop();
  }
  let idle: ReturnType<typeof setTimeout> | undefined;
  let isIdle = false;
  const touch = () => {
    clearTimeout(idle);
    idle = setTimeout(() => {
      isIdle = true;
      abort.abort();
    }, timing.idle);
  };
  let events = 0;
  try {
    const body = await options.kube.open({
      verb: "watch",
      ...placeOf(options),
      ...acceptOf(options, "PartialObjectMetadata"),
      query: {
        watch: "1",
        allowWatchBookmarks: "true",
        resourceVersion: version,
        timeoutSeconds: String(Math.round(timing.watchSeconds * (1 + Math.random()))),
        ...selectorsOf(options),
      },
      signal: abort.signal,
    });
    const split = createLineSplitter();
    touch();
    for await (const chunk of body) {
      touch();
      for (const line of split(chunk)) {
        events += 1;
        advance(takeIn(options, line));
      }
    }
    return events;
  } catch (cause) {
    if (isIdle) {
      throw new IdleError(`watch ${options.resource.plural}: silent for ${timing.idle} ms`, { cause });
    }
    throw cause instanceof ApiError || cause instanceof StoppedError || cause instanceof UnreachableError
      ? cause
      : new UnreachableError(`watch ${options.resource.plural}: broken off`, { cause });
  } finally {
    clearTimeout(idle);
    options.signal.removeEventListener("abort", stop);
    abort.abort();
  }
}

/** Applies one event to the store and returns the resource version that is now reached. */
function takeIn<T extends KubeObject>({ store, keep, resource }: ReflectorOptions<T>, line: string): string {
  const event = parseWatchEvent(line);
  switch (event.type) {
    case "ERROR":
      throw watchError(event.object, `watch ${resource.plural}`);
    case "ADDED":
    case "MODIFIED":
      store.put(keep(event.object));
      break;
    case "DELETED":
      store.drop(keep(event.object));
      break;
    case "BOOKMARK":
      break;
  }
  return event.object.metadata.resourceVersion;
}
