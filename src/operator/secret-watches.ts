import { secretNameOf } from "../desired/names.ts";
import { pause } from "../kube/backoff.ts";
import { type Reflector, startReflector } from "../kube/cache.ts";
import { NotFoundError } from "../kube/errors.ts";
import { createStore, type Store } from "../kube/store.ts";
import { controllerOf } from "../plan/ownership.ts";
import type { CachedObject, Caches, CachesOptions } from "./caches.ts";
import { type CachedProxy, type CachedSecret, type CachedTarget, keeperOf, keptPaths } from "./keep.ts";
import { resources } from "./resources.ts";

/** Secrets that users made: each is followed by a watch of its own name, so that the operator sees no other Secret. */
export interface SecretWatches {
  /** Takes note that a Proxy or Target was added, changed or removed. */
  follow(before: CachedProxy | CachedTarget | undefined, after: CachedProxy | CachedTarget | undefined): void;
  /** A Secret as it is now, from memory where it is watched, else asked for. */
  find(namespace: string, name: string, signal: AbortSignal): Promise<CachedSecret | undefined>;
  /** Whether changes of this Secret are told; where not, it must be looked at again after a while. */
  isWatched(namespace: string, name: string): boolean;
}

/**
 * Each watch is a request that stays open, of the 4096 that Bun allows (see runtime.ts): a connection with 32 KiB here, 130 KiB and 2 ms of
 * processor time at its start in the API server (measured with 2,000 of them, Kubernetes 1.36). Secrets beyond are asked for from time to time.
 */
const defaultMaxWatches = 1000;

/** Milliseconds to wait for the first word of a watch that was just started, before asking directly. */
const patience = 2000;

interface Watched {
  users: Set<string>;
  store: Store<CachedSecret>;
  reflector: Reflector;
  abort: AbortController;
}

export function createSecretWatches(
  options: Omit<CachesOptions, "namespaces"> & { maxWatches?: number },
  caches: () => Pick<Caches, "secrets">,
): SecretWatches {
  const { maxWatches = defaultMaxWatches } = options;
  const watched = new Map<string, Watched>();
  /** Users of Secrets for which there is no watch left, the oldest first. */
  const waiting = new Map<string, Set<string>>();
  const keep = keeperOf<CachedSecret>(resources.secret, keptPaths.secret);

  const start = (key: string, users: Set<string>) => {
    const [namespace = "", name = ""] = key.split("/");
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, options.signal]);
    const store = createStore<CachedSecret>({
      onChange: (change, origin) => options.onChange(change as { after: CachedObject }, origin),
    });
    const fieldSelector = `metadata.name=${name}`;
    const reflector = startReflector({
      ...options,
      resource: resources.secret,
      namespace,
      fieldSelector,
      keep,
      store,
      signal,
    });
    watched.set(key, { users, store, reflector, abort });
  };
  const add = (key: string, user: string) => {
    const entry = watched.get(key);
    if (entry !== undefined) {
      entry.users.add(user);
    } else if (watched.size < maxWatches) {
      start(key, new Set([user]));
    } else {
      waiting.set(key, (waiting.get(key) ?? new Set()).add(user));
    }
  };
  const release = (key: string, user: string) => {
    const entry = watched.get(key);
    entry?.users.delete(user);
    const idle = waiting.get(key);
    if (idle?.delete(user) && idle.size === 0) {
      waiting.delete(key);
    }
    if (entry?.users.size === 0) {
      watched.delete(key);
      entry.abort.abort();
      for (const [next, users] of [...waiting].slice(0, 1)) {
        waiting.delete(next);
        start(next, users);
      }
    }
  };
  return {
    follow(before, after) {
      const [old, now] = [before, after].map((user) => (user === undefined ? undefined : secretKeyOf(user)));
      const user = (after ?? before)?.metadata.uid ?? "";
      if (now !== undefined) {
        add(now, user);
      }
      if (old !== undefined && old !== now) {
        release(old, user);
      }
    },
    async find(namespace, name, signal) {
      const own = caches().secrets.get(namespace, name);
      const entry = watched.get(`${namespace}/${name}`);
      if (own !== undefined) {
        return own;
      }
      if (entry !== undefined) {
        await Promise.race([entry.reflector.firstList, pause(patience, signal)]);
        if (entry.reflector.synced()) {
          return entry.store.get(namespace, name);
        }
      }
      try {
        return keep(await options.kube.get(resources.secret, namespace, name, signal));
      } catch (error) {
        if (error instanceof NotFoundError) {
          return undefined;
        }
        throw error;
      }
    },
    isWatched: (namespace, name) =>
      caches().secrets.get(namespace, name) !== undefined || watched.has(`${namespace}/${name}`),
  };
}

/** Undefined where the Secret is one that the operator makes: it carries our label and is watched with all others that do. */
function secretKeyOf(user: CachedProxy | CachedTarget): string | undefined {
  const isOwn = controllerOf(user) !== undefined || user.spec.secretRef === undefined;
  return isOwn ? undefined : `${user.metadata.namespace}/${secretNameOf(user)}`;
}
