import { indexOf, secretNameOf, tunnelSecretName } from "../desired/names.ts";
import type { Fingerprints } from "../fingerprint.ts";
import { labels, secretKey } from "../names.ts";
import type {
  ApplyFailure,
  PlanSettings,
  ProbeResult,
  ProxyInput,
  TargetInput,
  TunnelInput,
} from "../plan/observed.ts";
import { secretUnusable } from "../plan/workload-checks.ts";
import { secretText } from "../secret-text.ts";
import { type Caches, controlledBy, leftBy, ofWorkload, siblingsOf } from "./caches.ts";
import type { CachedPod, CachedProxy, CachedTarget, CachedTunnel } from "./keep.ts";
import type { SecretWatches } from "./secret-watches.ts";

/** What gathering reads. */
export interface Sources {
  caches: Caches;
  secrets: SecretWatches;
  fingerprints: Pick<Fingerprints, "unlessBusy">;
  probes: { results(podUids: readonly string[]): ProbeResult[] };
  settings: PlanSettings;
}

const noFailures: readonly ApplyFailure[] = [];

/** RFC 3339 with whole seconds. */
const timestamp = () => `${new Date().toISOString().slice(0, 19)}Z`;

const freshSecret = () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64");

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
    freshSecret: freshSecret(),
    services: caches.services.indexed(owned),
    proxies: caches.proxies.indexed(owned),
    targets: caches.targets.indexed(owned),
    leftPairs: [...caches.proxies.indexed(leftBy(namespace, name)), ...caches.targets.indexed(leftBy(namespace, name))],
  };
}

export async function gatherProxy(proxy: CachedProxy, sources: Sources, signal: AbortSignal): Promise<ProxyInput> {
  const { caches, settings } = sources;
  const { namespace, name, uid } = proxy.metadata;
  const owned = controlledBy(uid);
  const workload = ofWorkload(labels.proxy, namespace, name);
  const pods = caches.pods.indexed(workload);
  return {
    proxy,
    settings,
    now: timestamp(),
    failures: noFailures,
    ...(await secretFor(proxy, sources, signal)),
    freshSecret: freshSecret(),
    deployments: caches.deployments.indexed(owned),
    replicaSets: caches.replicaSets.indexed(workload),
    services: caches.services.indexed(owned),
    endpointSlices: caches.endpointSlices.indexed(owned),
    networkPolicies: caches.networkPolicies.indexed(owned),
    pods,
    nodes: nodesOf(caches, pods),
    takenNodes: takenNodes(caches, proxy),
    probes: sources.probes.results(pods.map((pod) => pod.metadata.uid)),
  };
}

export async function gatherTarget(target: CachedTarget, sources: Sources, signal: AbortSignal): Promise<TargetInput> {
  const { caches, settings } = sources;
  const { namespace, name, uid } = target.metadata;
  const workload = ofWorkload(labels.target, namespace, name);
  const pods = caches.pods.indexed(workload);
  return {
    target,
    settings,
    now: timestamp(),
    failures: noFailures,
    ...(await secretFor(target, sources, signal)),
    deployments: caches.deployments.indexed(controlledBy(uid)),
    replicaSets: caches.replicaSets.indexed(workload),
    pods,
    nodes: nodesOf(caches, pods),
  };
}

async function secretFor(user: CachedProxy | CachedTarget, { secrets, fingerprints }: Sources, signal: AbortSignal) {
  const name = secretNameOf(user);
  const secret = await secrets.find(user.metadata.namespace, name, signal);
  if (secret === undefined || secretUnusable(name, secret) !== undefined) return { secret };
  const value = secretText(Buffer.from(secret.data?.[secretKey] ?? "", "base64"));
  return { secret, secretFingerprint: (await fingerprints.unlessBusy(value)) ?? ("later" as const) };
}

/** In each pair the active pod is chosen so that the one after it can have another node: only pairs before this one count, so that no two wait for each other. */
function takenNodes({ proxies, pods }: Caches, proxy: CachedProxy): string[] {
  return siblingsOf(proxies, proxy).flatMap((sibling) => {
    const { namespace, name } = sibling.metadata;
    const active = sibling.status?.activePod;
    if (active === undefined || indexOf(name) >= indexOf(proxy.metadata.name)) {
      return [];
    }
    const nodeName = pods.get(namespace, active)?.spec?.nodeName;
    return nodeName === undefined ? [] : [nodeName];
  });
}

function nodesOf({ nodes }: Caches, pods: readonly CachedPod[]) {
  if (nodes === undefined) {
    return undefined;
  }
  const names = new Set(pods.map((pod) => pod.spec?.nodeName));
  return [...names].flatMap((name) => {
    const node = name === undefined ? undefined : nodes.get("", name);
    return node === undefined ? [] : [node];
  });
}
