import type { KubernetesObject } from "@kubernetes/client-node";
import { startReflector, type WatchTiming } from "../kube/cache.ts";
import type { Regarded } from "../kube/events.ts";
import type { Kube } from "../kube/kube.ts";
import { builtIn, type Resource } from "../kube/resources.ts";
import { createStore } from "../kube/store.ts";
import type { Log } from "../log.ts";
import type { PublishMetrics } from "./metrics.ts";

/** The Secret or ConfigMap that holds what is published, followed by all replicas: each serves what is in it. */
export interface NetsodyOutput {
  /** For people, such as `secret/netsody in namespace mesh`. */
  readonly name: string;
  /** Undefined when the object is not there. */
  current(): { text: string; version: string } | undefined;
  /** Throws the errors of `Kube`, ConflictError when somebody else wrote meanwhile. */
  write(text: string, version: string, signal: AbortSignal): Promise<void>;
  /** What Events about it are about. */
  regarded(): Regarded;
  synced(): Promise<void>;
  notReady(): string | undefined;
  done: Promise<void>;
}

export interface OutputOptions {
  kube: Kube;
  metrics: Pick<PublishMetrics, "watchRestarts">;
  log: Log;
  signal: AbortSignal;
  kind: "secret" | "configmap";
  namespace: string;
  objectName: string;
  onChange: () => void;
  timing: Partial<WatchTiming>;
}

/** Key of the file inside the object. */
export const outputKey = "network.toml";

const outputResources: Record<OutputOptions["kind"], Resource> = {
  secret: builtIn.secret,
  configmap: builtIn.configMap,
};

type Kept = KubernetesObject & {
  apiVersion: string;
  kind: string;
  metadata: { name: string; uid: string; resourceVersion: string; namespace?: string };
  text: string;
};

export function followOutput(options: OutputOptions): NetsodyOutput {
  const { kube, namespace, objectName, kind } = options;
  const resource = outputResources[kind];
  const store = createStore<Kept>({ onChange: options.onChange });
  const reflector = startReflector<Kept>({
    kube,
    metrics: options.metrics,
    log: options.log,
    resource,
    namespace,
    fieldSelector: `metadata.name=${objectName}`,
    keep: (object) => {
      const { name, uid, resourceVersion } = object.metadata;
      const given = (object as { data?: Record<string, string> }).data?.[outputKey] ?? "";
      const text = kind === "secret" ? Buffer.from(given, "base64").toString() : given;
      const { apiVersion, kind: itsKind } = resource;
      return { apiVersion, kind: itsKind, metadata: { name, uid, resourceVersion, namespace }, text };
    },
    store,
    signal: options.signal,
    timing: options.timing,
  });
  const object = () => store.get(namespace, objectName);
  return {
    name: `${kind}/${objectName} in namespace ${namespace}`,
    current() {
      const found = object();
      return found === undefined ? undefined : { text: found.text, version: found.metadata.resourceVersion };
    },
    async write(text, resourceVersion, signal) {
      const value = kind === "secret" ? Buffer.from(text).toString("base64") : text;
      const body = { metadata: { resourceVersion }, data: { [outputKey]: value } };
      await kube.mergePatch({ resource, namespace, name: objectName, body, signal });
    },
    regarded: () => ({
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: { namespace, name: objectName, uid: object()?.metadata.uid ?? "" },
    }),
    synced: () => reflector.firstList,
    notReady: () =>
      reflector.synced()
        ? undefined
        : `reading ${kind}/${objectName}: ${reflector.failure()?.message ?? "no answer yet"}`,
    done: reflector.done,
  };
}
