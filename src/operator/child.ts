import { withHash } from "../desired/applied.ts";
import { ConflictError, isWebhookFailure, NotFoundError, RefusedError } from "../kube/errors.ts";
import type { Kube } from "../kube/kube.ts";
import type { ApplyFailure, ApplyFailureKind } from "../plan/observed.ts";
import { controllerOf, isControlledBy, isOrphanOf } from "../plan/ownership.ts";
import type { DesiredObject } from "../plan/plan.ts";
import type { CachedObject, Caches } from "./caches.ts";
import { changedLists, isAsWanted } from "./compare.ts";
import { resourceOf } from "./resources.ts";

/** Writes single children. What is refused for good comes back as a failure, everything transient is thrown. */
export interface ChildWriter {
  /** Makes the object unless one of its name is there, whoever owns it. */
  create(desired: DesiredObject, signal: AbortSignal): Promise<ApplyFailure | undefined>;
  /** Brings the object's owned fields to what is wanted, unless they are so already or it is somebody else's. */
  apply(
    owner: { metadata: { uid: string } },
    desired: DesiredObject,
    signal: AbortSignal,
  ): Promise<ApplyFailure | undefined>;
  /** Puts the given fields of a child right, lets all others be, and makes nothing. */
  adjust(
    owner: { metadata: { uid: string } },
    part: DesiredObject,
    signal: AbortSignal,
  ): Promise<ApplyFailure | undefined>;
}

export function createChildWriter(kube: Kube, caches: Caches): ChildWriter {
  return {
    async create(desired, signal) {
      const { apiVersion, kind } = desired;
      // Metadata is all that will ever be applied to it, so the hash is of that.
      const { metadata } = withHash({ apiVersion, kind, metadata: desired.metadata });
      try {
        takeIn(caches, await kube.create<CachedObject>(resourceOf(desired), { ...desired, metadata }, signal));
      } catch (error) {
        if (error instanceof RefusedError) {
          return refusal(desired, error);
        }
        if (!(error instanceof ConflictError)) {
          throw error;
        }
      }
      return undefined;
    },
    async adjust(owner, part, signal) {
      const live = caches.storeOf(part)?.get(part.metadata.namespace, part.metadata.name);
      if (live === undefined || !isControlledBy(live, owner) || isAsWanted(part, live)) {
        return undefined;
      }
      const { namespace, name } = part.metadata;
      // With the uid: what has taken its place is made anew by the next pass.
      const body = { ...part, metadata: { uid: live.metadata.uid } };
      try {
        const call = { resource: resourceOf(part), namespace, name, body, signal };
        takeIn(caches, await kube.mergePatch<CachedObject>(call));
        return undefined;
      } catch (error) {
        if (error instanceof RefusedError) {
          return refusal(part, error);
        }
        throw error;
      }
    },
    async apply(owner, desired, signal) {
      const live = await find(kube, caches, desired, signal);
      if (live !== undefined && !isControlledBy(live, owner) && !isOrphanOf(live, desired)) {
        return failureOf(desired, "name-conflict", whoOwns(live));
      }
      if (live?.metadata.deletionTimestamp !== undefined) {
        const what = `apply ${desired.kind} ${desired.metadata.name}`;
        throw new ConflictError(409, { message: "is still being deleted" }, what);
      }
      const wanted = withHash(desired);
      if (live !== undefined && isAsWanted(wanted, live)) {
        return undefined;
      }
      const uid = live?.metadata.uid;
      const body = uid === undefined ? wanted : { ...wanted, metadata: { ...wanted.metadata, uid } };
      for (let isAgain = false; ; isAgain = true) {
        try {
          takeIn(caches, await kube.apply<CachedObject>(resourceOf(wanted), body, signal));
          return undefined;
        } catch (error) {
          if (!(error instanceof RefusedError)) {
            throw error;
          }
          // What somebody did to a list may be all that is wrong: a port whose number was changed has the name that ours shall have.
          if (isAgain || live === undefined || !(await writeLists(kube, caches, wanted, live, signal))) {
            return refusal(desired, error);
          }
        }
      }
    },
  };
}

/** Takes the answer to a write into the cache, so that the next pass does not decide from what was before it. */
export function takeIn(caches: Caches, answer: CachedObject): CachedObject {
  const trimmed = caches.trim(answer);
  caches.storeOf(trimmed)?.put(trimmed, "write");
  return trimmed;
}

/** Puts the wanted lists in the place of those that are otherwise. False when all are as wanted, or the API server refuses that too. */
async function writeLists(
  kube: Kube,
  caches: Caches,
  wanted: DesiredObject,
  live: CachedObject,
  signal: AbortSignal,
): Promise<boolean> {
  const lists = changedLists(wanted, live);
  if (lists === undefined) {
    return false;
  }
  const { namespace = "", name, uid } = live.metadata;
  const body = { metadata: { uid }, ...lists };
  try {
    takeIn(caches, await kube.mergePatch<CachedObject>({ resource: resourceOf(live), namespace, name, body, signal }));
    return true;
  } catch (error) {
    if (error instanceof RefusedError) {
      return false;
    }
    throw error;
  }
}

/** The object of that name, whoever owns it. What carries our label is in memory; a stranger without it has to be asked for. */
async function find(kube: Kube, caches: Caches, desired: DesiredObject, signal: AbortSignal) {
  const { namespace, name } = desired.metadata;
  const cached = caches.storeOf(desired)?.get(namespace, name);
  if (cached !== undefined) {
    return cached;
  }
  try {
    return caches.trim(await kube.get<CachedObject>(resourceOf(desired), namespace, name, signal));
  } catch (error) {
    if (error instanceof NotFoundError) {
      return undefined;
    }
    throw error;
  }
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
  if (error.code === 403 || isWebhookFailure(error)) {
    return "forbidden";
  }
  const causes = error.body.details?.causes ?? [];
  // The API server has no reason of its own for a port that somebody else holds, so the text has to tell it from one out of range.
  const isPortTaken = causes.some(
    ({ field, message }) => field?.endsWith("nodePort") === true && message?.includes("allocated") === true,
  );
  return error.code === 422 && isPortTaken ? "port-conflict" : "invalid";
}
