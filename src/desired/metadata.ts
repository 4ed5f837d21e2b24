import type { ObjectMeta, OwnerReference } from "../api/resource.ts";
import { apiGroup, labels } from "../names.ts";

/** The object that a child is made for. */
export interface Owner {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta & { namespace: string };
}

/** What every object that we make carries, so that it can be found and told apart. */
const ours = { [labels.name]: "netaminity", [labels.managedBy]: "netaminity" };

/**
 * Metadata of a child in its owner's namespace. Without `blockOwnerDeletion`: it would need the right to update the owner's
 * finalizers where OwnerReferencesPermissionEnforcement is on, and nothing here has to be gone before its owner is.
 */
export function childMetadata(owner: Owner, name: string, ownLabels: Record<string, string>) {
  return {
    name,
    namespace: owner.metadata.namespace,
    labels: { ...ours, ...ownLabels },
    ownerReferences: [controllerReference(owner)],
  };
}

/** The same with labels and annotations of the user; ours win. */
export function withUserMetadata<T extends ReturnType<typeof childMetadata>>(
  metadata: T,
  { labels: added = {}, annotations }: { labels?: Record<string, string>; annotations?: Record<string, string> },
) {
  return { ...metadata, labels: { ...added, ...metadata.labels }, ...(annotations !== undefined && { annotations }) };
}

/** Labels of pods: what users add never replaces what finds them, nor lets them be found by the Service of something else. */
export function podLabels(ownLabels: Record<string, string>, added: Record<string, string> = {}) {
  const others = Object.entries(added).filter(([key]) => !key.startsWith(`${apiGroup}/`));
  return { ...Object.fromEntries(others), ...ours, ...ownLabels };
}

function controllerReference(owner: Owner): OwnerReference & { controller: true } {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
  };
}
