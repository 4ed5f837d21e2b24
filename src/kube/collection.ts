import type { ReflectorOptions } from "./cache.ts";
import type { KubeObject } from "./kube.ts";

// How a collection is asked for.

const pageSize = "500";
const listTimeout = 60_000;

export function placeOf<T extends KubeObject>(options: ReflectorOptions<T>) {
  return { resource: options.resource, ...(options.namespace === undefined ? {} : { namespace: options.namespace }) };
}

export function selectorsOf<T extends KubeObject>({
  labelSelector,
  fieldSelector,
}: ReflectorOptions<T>): Record<string, string> {
  return {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}

export function acceptOf<T extends KubeObject>({ metadataOnly }: ReflectorOptions<T>, kind: string) {
  return metadataOnly === true ? { accept: `application/json;as=${kind};g=meta.k8s.io;v=v1` } : {};
}

interface ListBody {
  metadata: { resourceVersion: string; continue?: string };
  items?: KubeObject[];
}

/**
 * Reads the whole collection into the store and returns the resource version to watch from. What is selected is asked for in one piece: such a
 * list the API server answers from memory, as fresh as etcd (since Kubernetes 1.31), while for each page it would read all that is not selected
 * from etcd too. Where everything is wanted, as all nodes, pages keep the answer small, and etcd reads nothing in vain.
 */
export async function list<T extends KubeObject>(options: ReflectorOptions<T>): Promise<string> {
  const objects: T[] = [];
  const selectors = selectorsOf(options);
  const pages: Record<string, string> = Object.keys(selectors).length === 0 ? { limit: pageSize } : {};
  let next: string | undefined;
  for (;;) {
    const page: ListBody = await options.kube.request<ListBody>({
      verb: "list",
      ...placeOf(options),
      ...acceptOf(options, "PartialObjectMetadataList"),
      query: { ...pages, ...selectors, ...(next === undefined ? {} : { continue: next }) },
      signal: options.signal,
      timeout: listTimeout,
    });
    for (const item of page.items ?? []) {
      objects.push(options.keep(item));
    }
    if (page.metadata.continue === undefined || page.metadata.continue === "") {
      options.store.replace(objects, options.namespace);
      return page.metadata.resourceVersion;
    }
    next = page.metadata.continue;
  }
}
