import type { ReflectorOptions } from "./cache.ts";
import { UnreachableError } from "./errors.ts";
import type { KubeObject } from "./kube.ts";
import type { ObjectEvent } from "./watch-stream.ts";

/** What is there, as it comes at the head of a watch (KEP-3157, "watch list"). */
export interface InitialState {
  /** `complete`: this event ended it, and all that came is in the store now; until then the store is as it was. */
  takeIn(event: ObjectEvent): "complete" | "incomplete";
}

const endMark = "k8s.io/initial-events-end";

export function createInitialState<T extends KubeObject>(
  options: Pick<ReflectorOptions<T>, "keep" | "store" | "namespace" | "resource">,
): InitialState {
  const { keep, store, namespace, resource } = options;
  const objects = new Map<string, T>();
  return {
    takeIn({ type, object }) {
      const key = `${object.metadata.namespace}/${object.metadata.name}`;
      switch (type) {
        // The API server may begin with what it remembers and bring it up to date.
        case "ADDED":
        case "MODIFIED":
          objects.set(key, keep(object));
          return "incomplete";
        case "DELETED":
          objects.delete(key);
          return "incomplete";
        case "BOOKMARK":
          if (object.metadata.annotations?.[endMark] !== "true") {
            throw new UnreachableError(`watch ${resource.plural}: does not say where what is there ends`);
          }
          store.replace([...objects.values()], namespace);
          return "complete";
      }
    },
  };
}
