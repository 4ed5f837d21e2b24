import type { KubeObject } from "./kube.ts";

/** A change of one cached object: `before` is absent when it is new, `after` when it is gone. */
export type Change<T> = { before: T; after?: T } | { before?: T; after: T };

export interface StoreOptions<T> {
  /** Extra look-up keys of an object. */
  indexBy?: (object: T) => readonly string[];
  onChange: (change: Change<T>, origin: Origin) => void;
}

/** The objects of one kind as the API server had them last, by namespace and name, and by the keys of `indexBy`. Never change what you get from it. */
export interface Store<T> {
  get(namespace: string, name: string): T | undefined;
  indexed(key: string): readonly T[];
  values(): Iterable<T>;
  readonly size: number;
  /** Takes in what a watch or the answer to a write told; versions that are not newer than the known one are ignored. */
  put(object: T, origin?: Origin): void;
  /** Takes in that an object is gone, or no longer selected, as a watch told. */
  drop(object: T): void;
  /** Takes in a whole list: what is not in it is gone. A list of one namespace says nothing about the others. */
  replace(objects: readonly T[], namespace?: string): void;
}

/** Where a change was learned: from the server's list and watch, or from the answer to our own write. */
export type Origin = "watch" | "write";

/** Deleted objects that are remembered, so that the late answer to a write does not bring one back. */
const maxTombstones = 1024;

export function createStore<T extends KubeObject>({ indexBy, onChange }: StoreOptions<T>): Store<T> {
  const objects = new Map<string, T>();
  const index = new Map<string, Set<T>>();
  /** Resource version of the deletion by uid. An object that lost its label and got it back has the same uid and a newer version. */
  const tombstones = new Map<string, string>();

  const unindex = (object: T) => {
    for (const key of indexBy?.(object) ?? []) {
      const bucket = index.get(key);
      bucket?.delete(object);
      if (bucket?.size === 0) {
        index.delete(key);
      }
    }
  };
  const set = (key: string, before: T | undefined, after: T, origin: Origin) => {
    if (before !== undefined) {
      unindex(before);
    }
    objects.set(key, after);
    for (const name of indexBy?.(after) ?? []) {
      const bucket = index.get(name) ?? new Set();
      index.set(name, bucket.add(after));
    }
    onChange(before === undefined ? { after } : { before, after }, origin);
  };
  const unset = (key: string, before: T) => {
    objects.delete(key);
    unindex(before);
    onChange({ before }, "watch");
  };
  const bury = ({ metadata: { uid, resourceVersion } }: T) => {
    tombstones.set(uid, resourceVersion);
    const oldest = tombstones.keys().next();
    if (tombstones.size > maxTombstones && oldest.done !== true) {
      tombstones.delete(oldest.value);
    }
  };
  return {
    get: (namespace, name) => objects.get(`${namespace}/${name}`),
    indexed: (key) => [...(index.get(key) ?? [])],
    values: () => objects.values(),
    get size() {
      return objects.size;
    },
    put(object, origin = "watch") {
      const key = keyOf(object);
      const before = objects.get(key);
      const known = before?.metadata.resourceVersion ?? tombstones.get(object.metadata.uid);
      if (known === undefined || isNewer(object.metadata.resourceVersion, known)) {
        set(key, before, object, origin);
      }
    },
    drop(object) {
      bury(object);
      const key = keyOf(object);
      const before = objects.get(key);
      if (before?.metadata.uid === object.metadata.uid) {
        unset(key, before);
      }
    },
    replace(list, namespace) {
      const listed = new Set(list.map(keyOf));
      for (const [key, before] of [...objects]) {
        if (!listed.has(key) && (namespace === undefined || before.metadata.namespace === namespace)) {
          unset(key, before);
        }
      }
      for (const object of list) {
        // A list is the truth also where it is older than what was known (an etcd that was restored), so versions only need to differ.
        const key = keyOf(object);
        const before = objects.get(key);
        if (
          before?.metadata.resourceVersion !== object.metadata.resourceVersion ||
          before.metadata.uid !== object.metadata.uid
        ) {
          set(key, before, object, "watch");
        }
      }
    },
  };
}

function keyOf(object: KubeObject): string {
  return `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
}

/** Resource versions of one kind are numbers that grow (Kubernetes 1.35 promises it, etcd always did so). */
function isNewer(version: string, known: string): boolean {
  return version.length === known.length ? version > known : version.length > known.length;
}
