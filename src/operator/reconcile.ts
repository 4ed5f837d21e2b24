import { controllingTunnel } from "../desired/labels.ts";
import { secretNameOf } from "../desired/names.ts";
import type { EventRecorder } from "../kube/events.ts";
import type { ApplyFailure, Turn } from "../plan/observed.ts";
import { isControlledBy } from "../plan/ownership.ts";
import type { EventNote, Plan } from "../plan/plan.ts";
import { planProxy } from "../plan/proxy.ts";
import { planTarget } from "../plan/target.ts";
import { planTunnel } from "../plan/tunnel.ts";
import type { Caches } from "./caches.ts";
import type { Executor, Owner } from "./execute.ts";
import { gatherProxy, gatherTarget, gatherTunnel, type Sources } from "./gather.ts";
import type { CachedProxy, CachedTarget, CachedTunnel } from "./keep.ts";
import type { Rollouts } from "./rollouts.ts";
import { type Key, parseKey } from "./watches.ts";

export interface ReconcileOptions {
  sources: Sources;
  executor: Executor;
  events: EventRecorder;
  /** Who may change running pods because of the operator's settings; absent: all at once. */
  rollouts?: Pick<Rollouts, "take" | "done">;
}

/** What a reconcile asks of the queue: milliseconds until the next look without a change; absent: none. */
export interface ReconcileResult {
  requeueAfter?: number;
}

/** Pause until a Secret that is not watched is looked at again, in milliseconds. */
const unwatchedSecretPause = 30_000;

/** Makes the function that brings one object's children and status to what is wanted. It throws what is worth a retry. */
export function createReconcile(
  options: ReconcileOptions,
): (key: Key, signal: AbortSignal) => Promise<ReconcileResult> {
  const { sources, rollouts } = options;
  const { caches, secrets } = sources;
  const pass = async (key: Key, turn: Turn | undefined, signal: AbortSignal): Promise<ReconcileResult> => {
    const { kind, namespace, name } = parseKey(key);
    const paced = turn === undefined ? {} : { turn };
    switch (kind) {
      case "Tunnel": {
        const tunnel = living(caches.tunnels.get(namespace, name));
        return tunnel === undefined
          ? {}
          : runPass(options, tunnel, await gatherTunnel(tunnel, sources, signal), planTunnel, signal);
      }
      case "Proxy": {
        const proxy = staying(caches.proxies.get(namespace, name), caches);
        const result =
          proxy === undefined
            ? {}
            : await runPass(
                options,
                proxy,
                { ...(await gatherProxy(proxy, sources, signal)), ...paced },
                planProxy,
                signal,
              );
        return soonerFor(proxy, result, secrets);
      }
      case "Target": {
        const target = staying(caches.targets.get(namespace, name), caches);
        const result =
          target === undefined
            ? {}
            : await runPass(
                options,
                target,
                { ...(await gatherTarget(target, sources, signal)), ...paced },
                planTarget,
                signal,
              );
        return soonerFor(target, result, secrets);
      }
    }
  };
  return async (key, signal) => {
    const turn = rollouts?.take(key);
    try {
      return await pass(key, turn, signal);
    } finally {
      rollouts?.done(key);
    }
  };
}

/** An object that is being deleted is left to the garbage collector: its children must not be made again. */
function living<T extends CachedTunnel | CachedProxy | CachedTarget>(object: T | undefined): T | undefined {
  return object?.metadata.deletionTimestamp === undefined ? object : undefined;
}

/** The part of a pair goes with its Tunnel: what the garbage collector takes from it first is no problem of its own. */
function staying<T extends CachedProxy | CachedTarget>(object: T | undefined, { tunnels }: Caches): T | undefined {
  const present = living(object);
  const owner = present && controllingTunnel(present.metadata);
  if (present === undefined || owner === undefined) return present;
  const tunnel = living(tunnels.get(present.metadata.namespace, owner.name));
  return tunnel !== undefined && isControlledBy(present, tunnel) ? present : undefined;
}

/** Decide, apply, and - when something was refused - decide once more what to say about it; prune, one status write, events. */
async function runPass<Input extends { failures: readonly ApplyFailure[] }, Status extends object>(
  { executor, events }: ReconcileOptions,
  owner: Owner & { status?: object },
  input: Input,
  decide: (input: Input) => Plan<Status>,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const plan = decide(input);
  const failures = [
    ...(await executor.createAll(plan.create, signal)),
    ...(await executor.applyAll(owner, plan.apply, signal)),
    ...(await executor.adjustAll(owner, plan.hold ?? [], signal)),
  ];
  const found = failures.length === 0 ? plan : decide({ ...input, failures });
  const left = await executor.removeAll(found.remove, signal);
  const told = left.length === 0 ? found : decide({ ...input, failures: [...failures, ...left] });
  await executor.writeStatus(owner, told.status, signal);
  for (const note of told.events satisfies readonly EventNote[]) {
    events.record(owner, note);
  }
  return told.requeueAfter === undefined ? {} : { requeueAfter: told.requeueAfter };
}

function soonerFor(
  user: CachedProxy | CachedTarget | undefined,
  result: ReconcileResult,
  secrets: Sources["secrets"],
): ReconcileResult {
  if (user === undefined || secrets.isWatched(user.metadata.namespace, secretNameOf(user))) {
    return result;
  }
  return { requeueAfter: Math.min(result.requeueAfter ?? unwatchedSecretPause, unwatchedSecretPause) };
}
