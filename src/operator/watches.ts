import { type OwnKind, ownKindOf } from "../api/own-kinds.ts";
import type { Change, Origin } from "../kube/store.ts";
import { apiGroup, labels } from "../names.ts";
import { controllerOf } from "../plan/ownership.ts";
import { type CachedObject, type Caches, onNode, siblingsOf, usesSecret } from "./caches.ts";
import type { CachedNode, CachedPod, CachedProxy } from "./keep.ts";

/** What a reconcile is about: `Kind/namespace/name`. */
export type Key = string;

export const keyFor = (kind: OwnKind, namespace: string, name: string): Key => `${kind}/${namespace}/${name}`;

export function parseKey(key: Key): { kind: OwnKind; namespace: string; name: string } {
  const [kind, namespace = "", name = ""] = key.split("/");
  if (kind !== "Tunnel" && kind !== "Proxy" && kind !== "Target") {
    throw new Error(`not a key: ${key}`);
  }
  return { kind, namespace, name };
}

/** Which objects have to be reconciled because of a change. A change that no reconcile can see yields none. */
export function keysOf(
  change: Change<CachedObject>,
  origin: Origin,
  caches: Pick<Caches, "proxies" | "targets" | "pods">,
): Key[] {
  const { before, after } = change;
  if (before !== undefined && after !== undefined && isSame(before, after)) {
    return [];
  }
  const keys = new Set<Key>();
  for (const object of [before, after]) {
    if (object !== undefined) {
      for (const key of concerned(object, caches)) {
        keys.add(key);
      }
    }
  }
  if (after?.kind === "Proxy" && activePodOf(before) !== activePodOf(after)) {
    // Pairs behind it may have to make room, or may take the node that it has left.
    for (const { metadata } of siblingsOf(caches.proxies, after as CachedProxy)) {
      keys.add(keyFor("Proxy", metadata.namespace, metadata.name));
    }
  }
  const object = after ?? before;
  const kind = object === undefined ? undefined : ownKindOf(object);
  if (
    object !== undefined &&
    kind !== undefined &&
    origin === "write" &&
    before !== undefined &&
    onlyStatusDiffers(change)
  ) {
    // Our own status write: the reconcile that made it already knows.
    keys.delete(keyFor(kind, object.metadata.namespace ?? "", object.metadata.name));
  }
  return [...keys];
}

function activePodOf(proxy: CachedObject | undefined): string | undefined {
  return (proxy as CachedProxy | undefined)?.status?.activePod;
}

function concerned(object: CachedObject, caches: Pick<Caches, "proxies" | "targets" | "pods">): Key[] {
  const { namespace = "", name } = object.metadata;
  switch (object.kind) {
    case "Node":
      return caches.pods.indexed(onNode(name)).flatMap((pod) => workloadKeys(pod));
    case "Pod":
    case "ReplicaSet":
      return workloadKeys(object as CachedPod);
    case "Secret": {
      const users = [
        ...caches.proxies.indexed(usesSecret(namespace, name)),
        ...caches.targets.indexed(usesSecret(namespace, name)),
      ];
      return [...ownerKeys(object), ...users.map((user) => keyFor(user.kind, namespace, user.metadata.name))];
    }
    case "Proxy":
    case "Target":
      return [keyFor(object.kind, namespace, name), ...ownerKeys(object), ...tunnelInTheWay(object)];
    case "Tunnel":
      return [keyFor(object.kind, namespace, name)];
    default:
      return ownerKeys(object);
  }
}

function ownerKeys(object: CachedObject): Key[] {
  const owner = controllerOf(
    object as { metadata: { ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string }[] } },
  );
  const kind = owner?.apiVersion.startsWith(`${apiGroup}/`) === true ? ownKindOf(owner) : undefined;
  return owner === undefined || kind === undefined ? [] : [keyFor(kind, object.metadata.namespace ?? "", owner.name)];
}

/** The Tunnel that would like to have this name for one of its pairs: it waits for a user's object to go. */
function tunnelInTheWay({ metadata: { namespace = "", name } }: CachedObject): Key[] {
  const tunnel = /^(.+)-\d{1,2}$/.exec(name)?.[1];
  return tunnel === undefined ? [] : [keyFor("Tunnel", namespace, tunnel)];
}

function workloadKeys({ metadata: { namespace = "", labels: own = {} } }: CachedPod): Key[] {
  const [proxy, target] = [own[labels.proxy], own[labels.target]];
  return [
    ...(proxy === undefined ? [] : [keyFor("Proxy", namespace, proxy)]),
    ...(target === undefined ? [] : [keyFor("Target", namespace, target)]),
  ];
}

/** Whether nothing that is cached differs. Nodes report every few minutes that they still live; only readiness matters. */
function isSame(before: CachedObject, after: CachedObject): boolean {
  if (before.kind === "Node") {
    return readiness(before as unknown as CachedNode) === readiness(after as unknown as CachedNode);
  }
  return Bun.deepEquals(withoutVersion(before), withoutVersion(after));
}

function readiness(node: CachedNode): string {
  return node.status?.conditions?.find((condition) => condition.type === "Ready")?.status ?? "Unknown";
}

function withoutVersion(object: CachedObject) {
  return { ...object, metadata: { ...object.metadata, resourceVersion: "" } };
}

function onlyStatusDiffers({ before, after }: Change<CachedObject>): boolean {
  const bare = (object: CachedObject | undefined) =>
    object === undefined ? undefined : { ...withoutVersion(object), status: undefined };
  return Bun.deepEquals(bare(before), bare(after));
}
