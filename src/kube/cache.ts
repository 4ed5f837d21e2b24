import type { Log } from "../log.ts";
import { backoffDelay, pause } from "./backoff.ts";
import { acceptOf, list, placeOf, selectorsOf } from "./collection.ts";
import { ApiError, GoneError, RefusedError, StoppedError, UnreachableError } from "./errors.ts";
import { createInitialState, type InitialState } from "./initial-state.ts";
import type { Kube, KubeObject } from "./kube.ts";
import type { KubeMetrics } from "./metrics.ts";
import type { Resource } from "./resources.ts";
import type { Store } from "./store.ts";
import { createLineSplitter, type ObjectEvent, parseWatchEvent, watchError } from "./watch-stream.ts";

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
  /**
   * Milliseconds without a byte after which a watch counts as dead. The server sends a bookmark every minute (measured: 59 to 62 s), but none for
   * a collection in which nothing has happened since its start: there the watch is asked for again each time.
   */
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
  idle: 75_000,
  firstBackoff: 250,
  maxBackoff: 30_000,
};

/**
 * Follows a collection for ever: what is there, then watches with bookmarks from that resource version. A watch that ends, falls silent or
 * breaks is started again where it stopped; only 410 asks for everything anew. Nothing makes it give up but the signal.
 * What is there comes at the head of the first watch, object by object out of the API server's memory, or where it does not know that
 * (Kubernetes before 1.34) as a list.
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
  let version: string | undefined;
  let failures = 0;
  /** What is there is asked for in turns: whatever stands before the API server may know no better than lists. */
  let begins: "watch" | "list" = "watch";
  const reached: WatchEvents = {
    opened: () => {
      state.heard = performance.now();
    },
    complete: () => {
      begins = "watch";
      state.synced = true;
      first.resolve();
      tried.resolve();
      heard();
    },
    advance: (next) => {
      version = next;
      failures = 0;
      heard();
    },
  };
  const listAnew = async () => {
    version = await list(options);
    reached.complete();
  };
  const follow = async () => {
    if (version === undefined && begins === "list") {
      await listAnew();
    }
    try {
      return await watch(options, timing, version, reached);
    } catch (error) {
      if (version !== undefined || !(error instanceof RefusedError)) {
        throw error;
      }
    }
    await listAnew();
    return await watch(options, timing, version, reached);
  };
  const run = async () => {
    while (!options.signal.aborted) {
      try {
        const began = performance.now();
        const seen = await follow();
        options.metrics.watchRestarts.inc({ resource: options.resource.plural, cause: "end" });
        heard();
        // A server that ends watches at once must not be asked in a tight loop.
        failures = seen === 0 && performance.now() - began < timing.firstBackoff ? failures + 1 : 0;
      } catch (error) {
        if (options.signal.aborted) {
          return;
        }
        if (version === undefined) {
          begins = begins === "watch" ? "list" : "watch";
        }
        // A watch that was silent had been opened, so there is nothing to spare; a server that is gone is seen when it is opened again.
        failures = error instanceof IdleError ? 0 : failures + 1;
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
  if (kind === "idle") {
    options.log.debug("watch was silent, asking again", { resource: options.resource.plural });
    return kind;
  }
  if (!gone && state.failure?.message !== error.message) {
    options.log.warn("watch failed, trying again", { resource: options.resource.plural, reason: error.message });
  }
  state.failure = gone ? undefined : error;
  return kind;
}

class IdleError extends UnreachableError {}

interface WatchEvents {
  /** The server has accepted the watch. */
  opened(): void;
  /** The store holds the whole collection. */
  complete(): void;
  /** A resource version was reached from which a watch can go on. */
  advance(version: string): void;
}

/**
 * Follows one watch to its end and returns how many events it brought. Without a version it begins with all that is there.
 * Throws ApiError, GoneError, IdleError or UnreachableError.
 */
async function watch<T extends KubeObject>(
  options: ReflectorOptions<T>,
  timing: WatchTiming,
  version: string | undefined,
  { opened, complete, advance }: WatchEvents,
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
  let initial: InitialState | undefined = version === undefined ? createInitialState(options) : undefined;
  try {
    const body = await options.kube.open({
      verb: "watch",
      ...placeOf(options),
      ...acceptOf(options, "PartialObjectMetadata"),
      query: {
        watch: "1",
        allowWatchBookmarks: "true",
        ...(version === undefined
          ? { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" }
          : { resourceVersion: version }),
        timeoutSeconds: String(Math.round(timing.watchSeconds * (1 + Math.random()))),
        ...selectorsOf(options),
      },
      signal: abort.signal,
    });
    const split = createLineSplitter();
    opened();
    touch();
    for await (const chunk of body) {
      touch();
      for (const line of split(chunk)) {
        events += 1;
        const event = parseWatchEvent(line);
        if (event.type === "ERROR") {
          throw watchError(event.object, `watch ${options.resource.plural}`);
        }
        if (initial?.takeIn(event) === "incomplete") {
          continue;
        }
        if (initial === undefined) {
          takeIn(options, event);
        } else {
          initial = undefined;
          complete();
        }
        advance(event.object.metadata.resourceVersion);
      }
    }
    if (initial !== undefined) {
      throw new UnreachableError(`watch ${options.resource.plural}: ended before all that is there had come`);
    }
    return events;
  } catch (cause) {
    if (isIdle) {
      const Silence = initial === undefined ? IdleError : UnreachableError;
      throw new Silence(`watch ${options.resource.plural}: silent for ${timing.idle} ms`, { cause });
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

/** Applies one event to the store. */
function takeIn<T extends KubeObject>({ store, keep }: ReflectorOptions<T>, { type, object }: ObjectEvent): void {
  switch (type) {
    case "ADDED":
    case "MODIFIED":
      store.put(keep(object));
      break;
    case "DELETED":
      store.drop(keep(object));
      break;
    case "BOOKMARK":
      break;
  }
}
