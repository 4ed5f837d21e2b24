import { ConflictError, NotFoundError, RefusedError } from "../kube/errors.ts";
import type { Kube } from "../kube/kube.ts";
import type { ApplyFailure } from "../plan/observed.ts";
import type { DesiredObject, ObjectRef } from "../plan/plan.ts";
import type { Caches } from "./caches.ts";
import { createChildWriter, takeIn } from "./child.ts";
import { resourceOf } from "./resources.ts";

/** The object that is being reconciled. */
export interface Owner {
  apiVersion: string;
  kind: string;
  metadata: { namespace: string; name: string; uid: string; resourceVersion: string };
}

export interface Executor {
  /** Makes what is absent and leaves alone what is there, whoever owns it. Returns what the API server refused. */
  createAll(wanted: readonly DesiredObject[], signal: AbortSignal): Promise<ApplyFailure[]>;
  /** Writes the children that are not as wanted and returns those that the API server or our ownership check refused. */
  applyAll(owner: Owner, wanted: readonly DesiredObject[], signal: AbortSignal): Promise<ApplyFailure[]>;
  /** Puts parts of children right whose other fields stay as they are. */
  adjustAll(owner: Owner, parts: readonly DesiredObject[], signal: AbortSignal): Promise<ApplyFailure[]>;
  /** Deletes what is no longer wanted, if it still is the object that was looked at. Returns what the API server refused. */
  removeAll(unwanted: readonly ObjectRef[], signal: AbortSignal): Promise<ApplyFailure[]>;
  /** Writes the status, unless it is there already. */
  writeStatus(owner: Owner & { status?: object }, status: object, signal: AbortSignal): Promise<void>;
}

/** Carries out plans. Everything transient is thrown, for the queue to try again. */
export function createExecutor(kube: Kube, caches: Caches): Executor {
  const children = createChildWriter(kube, caches);
  return {
    createAll: (wanted, signal) => failuresOf(wanted, (desired) => children.create(desired, signal)),
    applyAll: (owner, wanted, signal) => failuresOf(wanted, (desired) => children.apply(owner, desired, signal)),
    adjustAll: (owner, parts, signal) => failuresOf(parts, (part) => children.adjust(owner, part, signal)),
    async removeAll(unwanted, signal) {
      const failures: ApplyFailure[] = [];
      for (const object of unwanted) {
        try {
          await kube.remove(resourceOf(object), object, signal);
        } catch (error) {
          if (error instanceof RefusedError) {
            const { apiVersion, kind, name } = object;
            const message = error.body.message ?? error.message;
            failures.push({ kind: "not-removed", object: { apiVersion, kind, name }, message });
            continue;
          }
          // Gone already, or replaced by another object of the same name: either way ours is no more.
          if (!(error instanceof NotFoundError || error instanceof ConflictError)) {
            throw error;
          }
        }
      }
      return failures;
    },
    async writeStatus(owner, status, signal) {
      const wanted = JSON.parse(JSON.stringify(status)) as Record<string, unknown>;
      if (Bun.deepEquals(wanted, owner.status)) {
        return;
      }
      const { namespace, name, resourceVersion } = owner.metadata;
      const gone = Object.keys(owner.status ?? {}).map((field) => [field, null] as const);
      // No server-side apply: it turns a list whose last entry goes into null, which the schema refuses. The whole status is ours anyway.
      // The version makes sure that it is about the object that was looked at.
      const body = { metadata: { resourceVersion }, status: { ...Object.fromEntries(gone), ...wanted } };
      const call = { resource: resourceOf(owner), namespace, name, subresource: "status", body, signal };
      try {
        takeIn(caches, await kube.mergePatch(call));
      } catch (error) {
        // Deleted meanwhile: there is nothing left to report on.
        if (!(error instanceof NotFoundError)) {
          throw error;
        }
      }
    },
  };
}

/** One after the other, in the order of the plan. */
async function failuresOf(
  wanted: readonly DesiredObject[],
  write: (desired: DesiredObject) => Promise<ApplyFailure | undefined>,
): Promise<ApplyFailure[]> {
  const failures: ApplyFailure[] = [];
  for (const desired of wanted) {
    const failure = await write(desired);
    if (failure !== undefined) {
      failures.push(failure);
    }
  }
  return failures;
}
