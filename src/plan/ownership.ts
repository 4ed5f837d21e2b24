import type { ObjectMeta } from "../api/resource.ts";

/** Whether `owner` is the controller of `object`: the one test that stands before every write to and delete of a child. */
export function isControlledBy(
  object: { metadata: Pick<ObjectMeta, "ownerReferences"> },
  owner: { metadata: { uid: string } },
): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid;
}

/** The reference to the controlling owner, if there is one. */
export function controllerOf(object: { metadata: Pick<ObjectMeta, "ownerReferences"> }) {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}
