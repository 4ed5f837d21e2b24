import { secretNameOf } from "../desired/names.ts";
import { type Reflector, startReflector, type WatchTiming } from "../kube/cache.ts";
import { RefusedError } from "../kube/errors.ts";
import type { Kube, KubeObject } from "../kube/kube.ts";
import { notReadyOf } from "../kube/not-ready.ts";
import type { Resource } from "../kube/resources.ts";
import { type Change, createStore, type Origin, type Store } from "../kube/store.ts";
import type { Log } from "../log.ts";
import { labels } from "../names.ts";
import {
  type CachedDeployment,
  type CachedEndpointSlice,
  type CachedNetworkPolicy,
  type CachedNode,
  type CachedPod,
  type CachedProxy,
  type CachedReplicaSet,
  type CachedSecret,
  type CachedService,
  type CachedTarget,
  type CachedTunnel,
  keeperOf,
  keptPaths,
} from "./keep.ts";
import type { OperatorMetrics } from "./metrics.ts";
import { resources } from "./resources.ts";

export interface CachesOptions {
  kube: Kube;
  metrics: OperatorMetrics;
  log: Log;
  /** Empty: all namespaces, and nodes. */
  namespaces: readonly string[];
  signal: AbortSignal;
  timing?: Partial<WatchTiming>;
  onChange: (change: Change<CachedObject>, origin: Origin) => void;
}

/** Any object of the caches. */
export type CachedObject = KubeObject & { apiVersion: string; kind: string };

/** Everything that reconciles look at, kept up to date by watches. */
export interface Caches {
  tunnels: Store<CachedTunnel>;
  proxies: Store<CachedProxy>;
  targets: Store<CachedTarget>;
  deployments: Store<CachedDeployment>;
  replicaSets: Store<CachedReplicaSet>;
  services: Store<CachedService>;
  endpointSlices: Store<CachedEndpointSlice>;
  networkPolicies: Store<CachedNetworkPolicy>;
  pods: Store<CachedPod>;
  /** Secrets with our label. Those of users are in `SecretWatches`. */
  secrets: Store<CachedSecret>;
  /** Undefined in a namespaced installation, which may not read nodes. */
  nodes: Store<CachedNode> | undefined;
  /** The store of a kind that the operator writes; undefined for kinds that are not cached. */
  storeOf(object: { apiVersion: string; kind: string }): Store<CachedObject> | undefined;
  /** Trims an answer of the API server to what the store of its kind keeps. */
  trim(object: CachedObject): CachedObject;
  /** Why the caches cannot be trusted now; undefined when they can. */
  notReady(): string | undefined;
  /** Resolves once every first list has arrived or was refused, or when the signal fires. */
  synced(): Promise<void>;
  /** Resolves when all first lists of a namespace have arrived, or when the signal fires. Without the right to read it, it is left alone. */
  known(namespace: string): Promise<void>;
  done: Promise<void>;
}

/** What the operator itself makes carries this label, so nothing else has to be watched. */
const managedSelector = `${labels.managedBy}=netaminity`;

export function startCaches(options: CachesOptions): Caches {
  const reflectors: { resource: Resource; namespace: string | undefined; reflector: Reflector }[] = [];
  const stores = new Map<string, { store: Store<CachedObject>; keep: (object: KubeObject) => CachedObject }>();

  /** One store, filled by one reflector per namespace (or one for all). */
  const follow = <T extends CachedObject>(
    resource: Resource,
    paths: readonly string[],
    how: { labelSelector?: string; metadataOnly?: boolean; indexBy?: (object: T) => readonly string[] } = {},
  ): Store<T> => {
    const { indexBy, ...selection } = how;
    const keep = keeperOf<T>(resource, paths);
    const gauge = options.metrics.cachedObjects.labels({ resource: resource.plural });
    const store: Store<T> = createStore<T>({
      ...(indexBy === undefined ? {} : { indexBy }),
      onChange: (change, origin) => {
        gauge.set(store.size);
        options.onChange(change, origin);
      },
    });
    const places = resource.namespaced && options.namespaces.length > 0 ? options.namespaces : [undefined];
    for (const namespace of places) {
      const reflector = startReflector<T>({
        ...options,
        ...selection,
        ...(namespace === undefined ? {} : { namespace }),
        resource,
        keep,
        store,
      });
      reflectors.push({ resource, namespace, reflector });
    }
    // The map gives a store back only for objects of the kind that it was made for.
    stores.set(`${resource.apiVersion}/${resource.kind}`, { store: store as unknown as Store<CachedObject>, keep });
    return store;
  };

  const of = (namespace: string) => reflectors.filter((each) => each.namespace === namespace);
  const known = (namespace: string) => Promise.all(of(namespace).map(({ reflector }) => reflector.firstList));
  /** It was deleted, with the Role in it, or not made yet: the others are served all the same. */
  const isForbidden = (namespace: string | undefined) =>
    namespace !== undefined && of(namespace).some(({ reflector }) => reflector.failure() instanceof RefusedError);

  const ours = { labelSelector: managedSelector };
  const children = { ...ours, indexBy: byController };
  const caches = {
    tunnels: follow<CachedTunnel>(resources.tunnel, keptPaths.own),
    proxies: follow<CachedProxy>(resources.proxy, keptPaths.own, { indexBy: byControllerAndSecret }),
    targets: follow<CachedTarget>(resources.target, keptPaths.own, { indexBy: byControllerAndSecret }),
    deployments: follow<CachedDeployment>(resources.deployment, keptPaths.deployment, children),
    replicaSets: follow<CachedReplicaSet>(resources.replicaSet, keptPaths.replicaSet, {
      ...ours,
      metadataOnly: true,
      indexBy: byWorkload,
    }),
    services: follow<CachedService>(resources.service, keptPaths.service, children),
    endpointSlices: follow<CachedEndpointSlice>(resources.endpointSlice, keptPaths.endpointSlice, children),
    networkPolicies: follow<CachedNetworkPolicy>(resources.networkPolicy, keptPaths.networkPolicy, children),
    pods: follow<CachedPod>(resources.pod, keptPaths.pod, { ...ours, indexBy: byWorkloadAndNode }),
    secrets: follow<CachedSecret>(resources.secret, keptPaths.secret, children),
    nodes: options.namespaces.length > 0 ? undefined : follow<CachedNode>(resources.node, keptPaths.node),
  };
  return {
    ...caches,
    storeOf: ({ apiVersion, kind }) => stores.get(`${apiVersion}/${kind}`)?.store,
    trim: (object) => stores.get(`${object.apiVersion}/${object.kind}`)?.keep(object) ?? object,
    notReady: () => notReadyOf(reflectors.filter(({ namespace }) => !isForbidden(namespace))),
    synced: async () => {
      await Promise.all(
        reflectors.map(({ namespace, reflector }) =>
          namespace === undefined ? reflector.firstList : reflector.firstTry,
        ),
      );
      tellUnreadable(options, of);
    },
    known: (namespace) => known(namespace).then(() => {}),
    done: Promise.all(reflectors.map(({ reflector }) => reflector.done)).then(() => {}),
  };
}

/** Says which namespaces cannot be read, and when they can. */
function tellUnreadable(
  { namespaces, log, signal }: CachesOptions,
  of: (namespace: string) => { reflector: Reflector }[],
): void {
  for (const namespace of namespaces) {
    const waiting = of(namespace).find(({ reflector }) => !reflector.synced());
    if (waiting === undefined || signal.aborted) {
      continue;
    }
    const reason = waiting.reflector.failure()?.message;
    log.warn("a namespace is left alone until it can be read", { namespace, reason });
    void Promise.all(of(namespace).map(({ reflector }) => reflector.firstList)).then(() => {
      if (!signal.aborted) {
        log.info("a namespace can be read now", { namespace });
      }
    });
  }
}

/** Index key of what an object controls. */
export const controlledBy = (uid: string) => `controller:${uid}`;

/** The other Proxies of the same Tunnel. */
export function siblingsOf(proxies: Caches["proxies"], proxy: CachedProxy): readonly CachedProxy[] {
  const tunnel = proxy.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (tunnel === undefined) {
    return [];
  }
  return proxies.indexed(controlledBy(tunnel.uid)).filter(({ metadata }) => metadata.uid !== proxy.metadata.uid);
}

/** Index key of the Proxies and Targets that say to be of a Tunnel and that nobody controls. */
export const leftBy = (namespace: string, tunnel: string) => `left:${namespace}/${tunnel}`;
/** Index key of the Proxies and Targets that use a Secret. */
export const usesSecret = (namespace: string, name: string) => `secret:${namespace}/${name}`;
/** Index key of the pods and ReplicaSets of a Proxy or Target. */
export const ofWorkload = (label: string, namespace: string, name: string) => `${label}:${namespace}/${name}`;
/** Index key of the pods on a node. */
export const onNode = (name: string) => `node:${name}`;

function byController(object: { metadata: { ownerReferences?: { controller?: boolean; uid: string }[] } }): string[] {
  return (object.metadata.ownerReferences ?? [])
    .filter((owner) => owner.controller === true)
    .map((owner) => controlledBy(owner.uid));
}

function byControllerAndSecret(object: CachedProxy | CachedTarget): string[] {
  const { namespace, labels: own = {} } = object.metadata;
  const [owners, tunnel] = [byController(object), own[labels.tunnel]];
  const left = owners.length === 0 && tunnel !== undefined ? [leftBy(namespace, tunnel)] : [];
  return [...owners, ...left, usesSecret(namespace, secretNameOf(object))];
}

function byWorkload(object: CachedReplicaSet | CachedPod): string[] {
  const { namespace = "", labels: own = {} } = object.metadata;
  return [labels.proxy, labels.target].flatMap((label) => {
    const name = own[label];
    return name === undefined ? [] : [ofWorkload(label, namespace, name)];
  });
}

function byWorkloadAndNode(pod: CachedPod): string[] {
  const node = pod.spec?.nodeName;
  return node === undefined ? byWorkload(pod) : [...byWorkload(pod), onNode(node)];
}
