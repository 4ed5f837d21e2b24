import type { ObjectMeta } from "../api/resource.ts";
import { apiGroup, labels } from "../names.ts";
import type { ApplyFailure, ObservedObject } from "./observed.ts";
import type { DesiredObject, ObjectRef } from "./plan.ts";

const commonLabels: readonly string[] = [labels.name, labels.managedBy, labels.component];

type Owned = { metadata: Pick<ObjectMeta, "ownerReferences"> };

/** Whether `owner` is the controller of `object`: the one test that stands before every write to and delete of a child. */
export function isControlledBy(object: Owned, owner: { metadata: { uid: string } }): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid;
}

/**
 * Whether it was made for an owner of this very name, which then was deleted without it (`kubectl delete --cascade=orphan`): nobody controls it, and it carries
 * every label that it would get, and none of ours that it would not: it was no part of anything else. Such an object is taken back.
 */
export function isOrphanOf(
  object: { metadata: ObjectMeta },
  wanted: { metadata: { labels?: Record<string, string> } },
): boolean {
  const { labels: found = {} } = object.metadata;
  const made = wanted.metadata.labels ?? {};
  const ours = Object.keys(found).filter((key) => key.startsWith(`${apiGroup}/`));
  // What the user adds may have changed since.
  const own = Object.keys(made).filter((key) => key.startsWith(`${apiGroup}/`) || commonLabels.includes(key));
  return (
    controllerOf(object) === undefined && ours.length > 0 && [...own, ...ours].every((key) => found[key] === made[key])
  );
}

/** The reference to the controlling owner, if there is one. */
export function controllerOf(object: Owned) {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}

/** Those of the observed objects that the owner controls. */
export function ownedBy<T extends Owned>(owner: { metadata: { uid: string } }, objects: readonly T[]): T[] {
  return objects.filter((object) => isControlledBy(object, owner));
}

/**
 * What the owner has but does not want any more, without what is being deleted already. While a write of some kind is refused,
 * nothing of that kind is pruned: a Service stays until the one that replaces it is there. `isTheirs` widens what counts as the owner's.
 */
export function unwanted(
  owner: { metadata: { uid: string; namespace: string } },
  observed: readonly ObservedObject[],
  wanted: readonly DesiredObject[],
  failures: readonly ApplyFailure[],
  isTheirs: (object: ObservedObject) => boolean = (object) => isControlledBy(object, owner),
): ObjectRef[] {
  const names = new Set(wanted.map(({ kind, metadata }) => `${kind}/${metadata.name}`));
  const refusedWrites = failures.filter(({ kind }) => kind !== "not-removed");
  const refusedKinds = new Set(refusedWrites.map(({ object }) => object.kind));
  return observed
    .filter(isTheirs)
    .filter(({ kind, metadata }) => metadata.deletionTimestamp === undefined && !refusedKinds.has(kind))
    .filter(({ kind, metadata }) => !names.has(`${kind}/${metadata.name}`))
    .map((object) => refOf(object, owner.metadata.namespace));
}

export function refOf({ apiVersion, kind, metadata }: ObservedObject, namespace: string): ObjectRef {
  return { apiVersion, kind, namespace, name: metadata.name, uid: metadata.uid };
}
