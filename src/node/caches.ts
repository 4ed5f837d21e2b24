import { type Reflector, startReflector, type WatchTiming } from "../kube/cache.ts";
import type { Kube, KubeObject } from "../kube/kube.ts";
import { notReadyOf } from "../kube/not-ready.ts";
import { builtIn, type Resource } from "../kube/resources.ts";
import { createStore, type Store } from "../kube/store.ts";
import type { Log } from "../log.ts";
import { labels } from "../names.ts";
import type { NodeMetrics } from "./metrics.ts";
import { allowIcmpAnnotation, cozystack, proxyNameLabel, serviceNameLabel, wholeIpAnnotation } from "./names.ts";
import type { NodeState, ObservedNode, ObservedService, ObservedSlice } from "./observed.ts";

export interface CachesOptions {
  kube: Kube;
  metrics: Pick<NodeMetrics, "watchRestarts">;
  log: Log;
  signal: AbortSignal;
  timing?: Partial<WatchTiming>;
  onChange: () => void;
}

/** What the role knows of the cluster. */
export interface Caches extends NodeState {
  services: Iterable<ObservedService>;
  /** Why it cannot be trusted yet; undefined when it can. */
  notReady(): string | undefined;
  /** Resolves once every first list has arrived, or when the signal fires. */
  synced: Promise<void>;
  done: Promise<void>;
}

export function startCaches(options: CachesOptions): Caches {
  const reflectors: { resource: Resource; reflector: Reflector }[] = [];
  const follow = <T extends { metadata: object }>(
    resource: Resource,
    keep: (object: T) => Omit<T, "metadata">,
    how: { labelSelector?: string; indexBy?: (object: T) => readonly string[] } = {},
  ) => {
    const { indexBy, ...selection } = how;
    type Kept = T & KubeObject;
    const store: Store<Kept> = createStore<Kept>({
      ...(indexBy === undefined ? {} : { indexBy }),
      onChange: ({ before, after }) => {
        if (JSON.stringify(withoutVersion(before)) !== JSON.stringify(withoutVersion(after))) options.onChange();
      },
    });
    const reflector = startReflector<Kept>({
      ...options,
      ...selection,
      resource,
      keep: (object) => ({ ...keep(object as Kept), metadata: keepMetadata(object.metadata) }) as Kept,
      store,
    });
    reflectors.push({ resource, reflector });
    return store;
  };
  const services = follow<ObservedService>(builtIn.service, ({ spec = {}, status }) => ({
    spec: pick(spec, [
      "type",
      "clusterIP",
      "clusterIPs",
      "externalTrafficPolicy",
      "healthCheckNodePort",
      "loadBalancerSourceRanges",
      "ports",
    ]),
    status: {
      loadBalancer: {
        ingress: (status?.loadBalancer?.ingress ?? []).map(({ ip }) => (ip === undefined ? {} : { ip })),
      },
    },
  }));
  const slices = follow<ObservedSlice>(
    builtIn.endpointSlice,
    ({ addressType, endpoints }) => ({
      ...(addressType === undefined ? {} : { addressType }),
      endpoints: (endpoints ?? []).map((each) => pick(each, ["addresses", "conditions", "nodeName"])),
    }),
    {
      // Headless Services have no address.
      labelSelector: "!service.kubernetes.io/headless",
      indexBy: ({ metadata }) => [`${metadata.namespace}/${metadata.labels?.[serviceNameLabel]}`],
    },
  );
  const nodes = follow<ObservedNode>(builtIn.node, ({ spec = {}, status }) => ({
    spec: pick(spec, ["podCIDRs"]),
    status: { addresses: status?.addresses ?? [] },
  }));
  return {
    services: { [Symbol.iterator]: () => services.values()[Symbol.iterator]() },
    slicesOf: (namespace, service) => slices.indexed(`${namespace}/${service}`),
    get nodes() {
      return [...nodes.values()];
    },
    notReady: () => notReadyOf(reflectors),
    synced: Promise.all(reflectors.map(({ reflector }) => reflector.firstList)).then(() => {}),
    done: Promise.all(reflectors.map(({ reflector }) => reflector.done)).then(() => {}),
  };
}

/** The rest of what carries them is never read, and would be most of the memory. */
const readLabels = [serviceNameLabel, proxyNameLabel, labels.managedBy, labels.proxy];
const readAnnotations = [wholeIpAnnotation, allowIcmpAnnotation, cozystack.wholeIp, cozystack.allowIcmp];

function keepMetadata(metadata: KubeObject["metadata"]) {
  return {
    ...pick(metadata, ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"]),
    labels: pick(metadata.labels ?? {}, readLabels),
    annotations: pick(metadata.annotations ?? {}, readAnnotations),
  };
}

function pick<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]]))) as Pick<
    T,
    K
  >;
}

const withoutVersion = (object: { metadata: object } | undefined) =>
  object === undefined ? undefined : { ...object, metadata: { ...object.metadata, resourceVersion: "" } };
