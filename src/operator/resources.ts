import { ownResources } from "../api/own-kinds.ts";
import { builtIn, type Resource } from "../kube/resources.ts";

/** Every kind that the operator reads or writes. */
export const resources = { ...ownResources, ...builtIn } as const satisfies Record<string, Resource>;

const byKind = new Map<string, Resource>(
  Object.values(resources).map((each) => [`${each.apiVersion}/${each.kind}`, each]),
);

/** The resource of an object. Throws for a kind that is not in the table: a plan asked for something the operator cannot do. */
export function resourceOf(object: { apiVersion?: string | undefined; kind?: string | undefined }): Resource {
  const resource = byKind.get(`${object.apiVersion}/${object.kind}`);
  if (resource === undefined) {
    throw new Error(`the operator does not handle ${object.apiVersion}/${object.kind}`);
  }
  return resource;
}
