import type { Change } from "../kube/store.ts";
import type { PlanSettings, Turn } from "../plan/observed.ts";
import { controllerOf } from "../plan/ownership.ts";
import { atRest, type Stand, standOf } from "../plan/pace.ts";
import { type CachedObject, type Caches, controlledBy } from "./caches.ts";
import type { CachedDeployment, CachedProxy, CachedTarget } from "./keep.ts";
import type { OperatorMetrics } from "./metrics.ts";
import { type Key, keyFor } from "./watches.ts";

/**
 * Lets changes of pods that come from the operator's settings or version pass a few at a time. What it knows follows from the caches; that a pass is
 * under way is remembered besides, until its write is in them.
 */
export interface Rollouts {
  /** Asks for a turn, for one pass. Undefined for what has no pods of its own. */
  take(key: Key): Turn | undefined;
  /** The pass is over. */
  done(key: Key): void;
  /** Takes in a change of the caches. */
  onChange(change: Change<CachedObject>): void;
}

export interface RolloutsOptions {
  caches: Pick<Caches, "proxies" | "targets" | "deployments">;
  settings: PlanSettings;
  metrics: Pick<OperatorMetrics, "rollouts">;
  /** Has an object looked at, because it can have a place now. */
  wake(key: Key): void;
}

interface Entry extends Stand {
  key: Key;
  namespace: string;
  /** Uid of the Tunnel whose pair it belongs to; its own where there is none. */
  group: string;
  /** A pass that has a turn is under way. */
  isReserved: boolean;
  /** How often it was woken and did not begin: those come last, so that one that cannot begin keeps nobody waiting. */
  woken: number;
}

const defaultMaxRollouts = "10%";

type Workload = CachedProxy | CachedTarget;

export function createRollouts(options: RolloutsOptions): Rollouts {
  const { caches, settings } = options;
  const { maxRollouts = defaultMaxRollouts } = settings;
  const wave = createWave(options);
  return {
    take(key) {
      const entry = wave.entries.get(key);
      if (entry === undefined) {
        return undefined;
      }
      if (entry.isBroken) {
        return { kind: "free" };
      }
      if (entry.isOutdated && !wave.holders.has(entry)) {
        const places = wave.places();
        if (wave.holders.size >= places) {
          const message = `the operator's settings or version ask for other pods; ${maxRollouts} of all Proxies and Targets may be changed at once (${places} now), and that many are`;
          return { kind: "wait", message };
        }
        if (wave.hasFellow(entry)) {
          return { kind: "wait", message: "another Proxy or Target of the same Tunnel is being changed" };
        }
        entry.isReserved = true;
        entry.woken = 0;
        wave.sort(entry);
      }
      return { kind: "granted" };
    },
    done(key) {
      const entry = wave.entries.get(key);
      if (entry?.isReserved === true) {
        entry.isReserved = false;
        wave.sort(entry);
        wave.wakeNext();
      }
    },
    onChange(change) {
      const [held, all] = [wave.holders.size, wave.entries.size];
      const workload = workloadOf(change.after ?? change.before, caches);
      if (workload === undefined) {
        return;
      }
      if (change.after === undefined && workload.kind === change.before?.kind) {
        wave.forget(workload);
      } else {
        wave.look(workload);
      }
      if (wave.holders.size < held || wave.entries.size > all) {
        wave.wakeNext();
      }
    },
  };
}

/** The Proxy or Target that a change is about: itself, or the owner of a Deployment. */
function workloadOf(object: CachedObject | undefined, caches: RolloutsOptions["caches"]): Workload | undefined {
  if (object?.kind === "Proxy" || object?.kind === "Target") {
    return object as unknown as Workload;
  }
  const owner = object?.kind === "Deployment" ? controllerOf(object as unknown as CachedDeployment) : undefined;
  const store = owner?.kind === "Proxy" ? caches.proxies : owner?.kind === "Target" ? caches.targets : undefined;
  return store?.get(object?.metadata.namespace ?? "", owner?.name ?? "");
}

function keyOf({ kind, metadata: { namespace, name } }: Workload): Key {
  return keyFor(kind, namespace, name);
}

/** All Proxies and Targets, those that hold a place and those that wait for one. */
function createWave({ caches, settings, metrics, wake }: RolloutsOptions) {
  const entries = new Map<Key, Entry>();
  const holders = new Set<Entry>();
  const waiting = new Set<Entry>();

  const wave = {
    entries,
    holders,
    places: () => placesOf(settings.maxRollouts ?? defaultMaxRollouts, entries.size),
    hasFellow: (entry: Entry) => [...holders].some((other) => other !== entry && other.group === entry.group),
    sort(entry: Entry) {
      mark(holders, entry, entry.holdsPlace || entry.isReserved);
      mark(waiting, entry, entry.isOutdated && !holders.has(entry));
      metrics.rollouts.set({ state: "changing" }, holders.size);
      metrics.rollouts.set({ state: "waiting" }, waiting.size);
    },
    forget(workload: Workload) {
      const entry = entries.get(keyOf(workload));
      if (entry !== undefined) {
        entries.delete(entry.key);
        wave.sort(Object.assign(entry, atRest, { isReserved: false }));
      }
    },
    look(workload: Workload) {
      const { namespace, uid } = workload.metadata;
      const key = keyOf(workload);
      const entry: Entry = entries.get(key) ?? { ...atRest, key, namespace, group: uid, isReserved: false, woken: 0 };
      entries.set(key, entry);
      const stand = standOf(workload, caches.deployments.indexed(controlledBy(uid)), settings.agent);
      wave.sort(Object.assign(entry, stand, { group: controllerOf(workload)?.uid ?? uid }));
    },
    /** As many as there are free places, in the order of `inTurns`. */
    wakeNext() {
      const free = wave.places() - holders.size;
      const groups = new Set<string>();
      for (const entry of free > 0 && waiting.size > 0 ? inTurns(waiting, entries.values()) : []) {
        if (groups.size < free && !groups.has(entry.group) && !wave.hasFellow(entry)) {
          groups.add(entry.group);
          entry.woken += 1;
          wake(entry.key);
        }
      }
    },
  };
  for (const store of [caches.proxies, caches.targets]) {
    for (const workload of store.values()) {
      wave.look(workload);
    }
  }
  return wave;
}

function mark(set: Set<Entry>, entry: Entry, belongs: boolean): void {
  if (belongs) {
    set.add(entry);
  } else {
    set.delete(entry);
  }
}

/** `maxRollouts` as a number of objects; at least one, or nothing would ever be updated. */
export function placesOf(maxRollouts: string, all: number): number {
  const number = Number.parseInt(maxRollouts, 10);
  return maxRollouts.endsWith("%") ? Math.max(1, Math.floor((all * number) / 100)) : number;
}

/** Who was woken least is first; then namespaces are equally far with the wave, and in each it goes by name. */
function inTurns(waiting: ReadonlySet<Entry>, all: Iterable<Entry>): Entry[] {
  const passed = new Map<string, number>();
  const pass = (namespace: string) => {
    const before = passed.get(namespace) ?? 0;
    passed.set(namespace, before + 1);
    return before;
  };
  for (const entry of all) {
    if (!waiting.has(entry)) {
      pass(entry.namespace);
    }
  }
  return [...waiting]
    .toSorted((a, b) => a.woken - b.woken || (a.key < b.key ? -1 : 1))
    .map((entry) => ({ entry, rank: pass(entry.namespace) }))
    .toSorted((a, b) => a.entry.woken - b.entry.woken || a.rank - b.rank)
    .map(({ entry }) => entry);
}
