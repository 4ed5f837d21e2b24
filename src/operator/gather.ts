import { tunnelSecretName } from "../desired/names.ts";
import { labels } from "../names.ts";
import type {
  ApplyFailure,
  PlanSettings,
  ProbeResult,
  ProxyInput,
  TargetInput,
  TunnelInput,
} from "../plan/observed.ts";
import { type Caches, controlledBy, ofWorkload } from "./caches.ts";
import type { CachedProxy, CachedTarget, CachedTunnel } from "./keep.ts";
import type { SecretWatches } from "./secret-watches.ts";

/** What gathering reads. */
export interface Sources {
  caches: Caches;
  secrets: SecretWatches;
  probes: { results(podUids: readonly string[]): ProbeResult[] };
  settings: PlanSettings;
}

const noFailures: readonly ApplyFailure[] = [];

/** RFC 3339 with whole seconds. */
const timestamp = () => `${new Date().toISOString().slice(0, 19)}Z`;

export async function gatherTunnel(tunnel: CachedTunnel, sources: Sources, signal: AbortSignal): Promise<TunnelInput> {
  const { caches, settings } = sources;
  const { namespace, name, uid } = tunnel.metadata;
  const owned = controlledBy(uid);
  return {
    tunnel,
    settings,
    now: timestamp(),
    failures: noFailures,
    secret: await sources.secrets.find(namespace, tunnelSecretName(name), signal),
    freshSecret: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64"),
    services: caches.services.indexed(owned),
    proxies: caches.proxies.indexed(owned),
    targets: caches.targets.indexed(owned),
  };
}

export async function gatherProxy(proxy: CachedProxy, sources: Sources, signal: AbortSignal): Promise<ProxyInput> {
  const { caches, settings } = sources;
  const { namespace, name, uid } = proxy.metadata;
  const owned = controlledBy(uid);
  const workload = ofWorkload(labels.proxy, namespace, name);
  const pods = caches.pods.indexed(workload);
  const nodeNames = new Set(pods.map((pod) => pod.spec?.nodeName));
  return {
    proxy,
    settings,
    now: timestamp(),
    failures: noFailures,
    secret: await sources.secrets.find(namespace, proxy.spec.secretRef.name, signal),
    deployments: caches.deployments.indexed(owned),
    replicaSets: caches.replicaSets.indexed(workload),
    services: caches.services.indexed(owned),
    endpointSlices: caches.endpointSlices.indexed(owned),
    pods,
    nodes: nodesNamed(caches, nodeNames),
    probes: sources.probes.results(pods.map((pod) => pod.metadata.uid)),
  };
}

export async function gatherTarget(target: CachedTarget, sources: Sources, signal: AbortSignal): Promise<TargetInput> {
  const { caches, settings } = sources;
  const { namespace, name, uid } = target.metadata;
  const workload = ofWorkload(labels.target, namespace, name);
  return {
    target,
    settings,
    now: timestamp(),
    failures: noFailures,
    secret: await sources.secrets.find(namespace, target.spec.secretRef.name, signal),
    deployments: caches.deployments.indexed(controlledBy(uid)),
    replicaSets: caches.replicaSets.indexed(workload),
    pods: caches.pods.indexed(workload),
  };
}

function nodesNamed({ nodes }: Caches, names: ReadonlySet<string | undefined>) {
  if (nodes === undefined) {
    return undefined;
  }
  return [...names].flatMap((name) => {
    const node = name === undefined ? undefined : nodes.get("", name);
    return node === undefined ? [] : [node];
  });
}
