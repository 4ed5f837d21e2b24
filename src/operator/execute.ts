import { hashOf, withHash } from "../desired/applied.ts";
import type { ApplyFailure, ApplyFailureKind } from "../plan/observed.ts";
import { controllerOf, isControlledBy } from "../plan/ownership.ts";
import type { DesiredObject, ObjectRef } from "../plan/plan.ts";
import type { CachedObject, Caches } from "./caches.ts";
import { isAsWanted } from "./compare.ts";
import { ConflictError, NotFoundError, RefusedError } from "./errors.ts";
import type { Kube } from "./kube.ts";
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
  /** Deletes what is no longer wanted, if it still is the object that was looked at. */
  removeAll(unwanted: readonly ObjectRef[], signal: AbortSignal): Promise<void>;
  /** Writes the status, unless it is there already. */
  writeStatus(owner: Owner & { status?: object }, status: object, signal: AbortSignal): Promise<void>;
}

/** Objects of which it is remembered that applying changed nothing though they do not look as wanted. */
const maxSettled = 10_000;

/** Carries out plans. Everything transient is thrown, for the queue to try again. */
export function createExecutor(kube: Kube, caches: Caches): Executor {
  /** By uid: hash of what was applied and of what the API server made of it (defaults, other managers' fields, rewritten values). */
  const settled = new Map<string, string>();

  const applyOne = async (owner: Owner, desired: DesiredObject, signal: AbortSignal) => {
    const live = await find(kube, caches, desired, signal);
    if (live !== undefined && !isControlledBy(live, owner)) {
      return failureOf(desired, "name-conflict", whoOwns(live));
    }
    if (live?.metadata.deletionTimestamp !== undefined) {
      throw new ConflictError(
        409,
        { message: "is still being deleted" },
        `apply ${desired.kind} ${desired.metadata.name}`,
      );
    }
    const wanted = withHash(desired);
    if (
      live !== undefined &&
      (isAsWanted(wanted, live) || settled.get(live.metadata.uid) === fingerprint(wanted, live))
    ) {
      return undefined;
    }
    try {
      const uid = live?.metadata.uid;
      const body = uid === undefined ? wanted : { ...wanted, metadata: { ...wanted.metadata, uid } };
      const answer = caches.trim(await kube.apply<CachedObject>(body, signal));
      caches.storeOf(answer)?.put(answer, "write");
      if (!isAsWanted(wanted, answer)) {
        settle(answer.metadata.uid, fingerprint(wanted, answer));
      }
      return undefined;
    } catch (error) {
      if (error instanceof RefusedError) {
        return refusal(desired, error);
      }
      throw error;
    }
  };
  const settle = (uid: string, print: string) => {
    const oldest = settled.keys().next();
    if (settled.size >= maxSettled && oldest.done !== true) {
      settled.delete(oldest.value);
    }
    settled.set(uid, print);
  };
  return {
    async applyAll(owner, wanted, signal) {
      const failures: ApplyFailure[] = [];
      for (const desired of wanted) {
        const failure = await applyOne(owner, desired, signal);
        if (failure !== undefined) {
          failures.push(failure);
        }
      }
      return failures;
    },
    async createAll(wanted, signal) {
      const failures: ApplyFailure[] = [];
      for (const desired of wanted) {
        try {
          const { apiVersion, kind } = desired;
          // Metadata is all that will ever be applied to it, so the hash is of that.
          const { metadata } = withHash({ apiVersion, kind, metadata: desired.metadata });
          const answer = caches.trim(await kube.create<CachedObject>({ ...desired, metadata }, signal));
          caches.storeOf(answer)?.put(answer, "write");
        } catch (error) {
          if (error instanceof RefusedError) {
            failures.push(refusal(desired, error));
          } else if (!(error instanceof ConflictError)) {
            throw error;
          }
        }
      }
      return failures;
    },
    async removeAll(unwanted, signal) {
      for (const object of unwanted) {
        try {
          await kube.remove(object, signal);
        } catch (error) {
          // Gone already, or replaced by another object of the same name: either way ours is no more.
          if (!(error instanceof NotFoundError || error instanceof ConflictError)) {
            throw error;
          }
        }
      }
    },
    async writeStatus(owner, status, signal) {
      const wanted = JSON.parse(JSON.stringify(status)) as Record<string, unknown>;
      if (Bun.deepEquals(wanted, owner.status)) {
        return;
      }
      const { namespace, name, resourceVersion } = owner.metadata;
      const gone = Object.keys(owner.status ?? {}).map((field) => [field, null] as const);
      try {
        // No server-side apply: it turns a list whose last entry goes into null, which the schema refuses. The whole status is ours anyway.
        // The version makes sure that it is about the object that was looked at.
        const body = { metadata: { resourceVersion }, status: { ...Object.fromEntries(gone), ...wanted } };
        const resource = resourceOf(owner);
        const answer = await kube.mergePatch<CachedObject>({
          resource,
          namespace,
          name,
          subresource: "status",
          body,
          signal,
        });
        caches.storeOf(owner)?.put(caches.trim(answer), "write");
      } catch (error) {
        // Deleted meanwhile: there is nothing left to report on.
        if (!(error instanceof NotFoundError)) {
          throw error;
        }
      }
    },
  };
}

/** The object of that name, whoever owns it. What carries our label is in memory; a stranger without it has to be asked for. */
async function find(kube: Kube, caches: Caches, desired: DesiredObject, signal: AbortSignal) {
  const { namespace, name } = desired.metadata;
  const cached = caches.storeOf(desired)?.get(namespace, name);
  if (cached !== undefined) {
    return cached;
  }
  try {
    return caches.trim({ ...(await kube.get<CachedObject>(resourceOf(desired), namespace, name, signal)) });
  } catch (error) {
    if (error instanceof NotFoundError) {
      return undefined;
    }
    throw error;
  }
}

function fingerprint(wanted: DesiredObject, live: CachedObject): string {
  const { metadata, status: _status, ...content } = live as CachedObject & { status?: unknown };
  const { resourceVersion: _version, generation: _generation, ...meta } = metadata;
  return hashOf([wanted, meta, content]);
}

function failureOf(desired: DesiredObject, kind: ApplyFailureKind, message: string): ApplyFailure {
  const { apiVersion, kind: objectKind } = desired;
  return { kind, object: { apiVersion, kind: objectKind, name: desired.metadata.name }, message };
}

function refusal(desired: DesiredObject, error: RefusedError): ApplyFailure {
  return failureOf(desired, failureKind(error), error.body.message ?? error.message);
}

function whoOwns(live: CachedObject): string {
  const owner = controllerOf(live);
  return owner === undefined
    ? "it exists already and no controller owns it"
    : `it exists already and belongs to ${owner.kind} ${owner.name}`;
}

function failureKind(error: RefusedError): ApplyFailureKind {
  if (error.code === 403) {
    return "forbidden";
  }
  const causes = error.body.details?.causes ?? [];
  // The API server has no reason of its own for a port that somebody else holds, so the text has to tell it from one out of range.
  const portTaken = causes.some(
    ({ field, message }) => field?.endsWith("nodePort") === true && message?.includes("allocated") === true,
  );
  return error.code === 422 && portTaken ? "port-conflict" : "invalid";
}
