import type { ProxyResource } from "../api/proxy.ts";
import type { TargetResource } from "../api/target.ts";
import type { TunnelResource } from "../api/tunnel.ts";
import {
  pairName,
  proxyDeploymentName,
  rendezvousServiceName,
  secretNameOf,
  targetDeploymentName,
  tunnelSecretName,
} from "../desired/names.ts";
import { labels } from "../names.ts";
import type { ObservedDeployment, ObservedNode, ObservedPod, ObservedSecret } from "../plan/observed.ts";
import { askAgents } from "./agents.ts";
import type { Cluster } from "./cluster.ts";
import {
  type Found,
  type ProxyFacts,
  type SliceFacts,
  seen,
  type TargetFacts,
  type TunnelFacts,
  type WorkloadFacts,
} from "./facts.ts";
import { runningPods } from "./pod-checks.ts";

const pairsAtOnce = 8;
const nothing = { absent: "object" } as const;

/** Looks at everything that a Proxy's path consists of. `secret` is taken over where it was read already. */
export async function examineProxy(
  cluster: Cluster,
  namespace: string,
  name: string,
  secret?: Found<ObservedSecret>,
): Promise<ProxyFacts> {
  const object = await cluster.get<ProxyResource>("proxy", namespace, name);
  const proxy = seen(object);
  if (proxy === undefined) return { name, object, ...noWorkload(), rendezvous: nothing };
  const { service, podTemplate } = proxy.spec;
  const [workload, rendezvous, consumers] = await Promise.all([
    examineWorkload(cluster, namespace, {
      selector: `${labels.proxy}=${name}`,
      deployment: proxyDeploymentName(name),
      secret: secret ?? secretNameOf(proxy),
      healthPort: podTemplate?.healthPort,
    }),
    slicesOf(cluster, namespace, rendezvousServiceName(name)),
    service === undefined ? undefined : slicesOf(cluster, namespace, service.name),
  ]);
  return { name, object, ...workload, rendezvous, ...(consumers !== undefined && { consumers }) };
}

export async function examineTarget(
  cluster: Cluster,
  namespace: string,
  name: string,
  secret?: Found<ObservedSecret>,
): Promise<TargetFacts> {
  const object = await cluster.get<TargetResource>("target", namespace, name);
  const target = seen(object);
  if (target === undefined) return { name, object, ...noWorkload() };
  const workload = await examineWorkload(cluster, namespace, {
    selector: `${labels.target}=${name}`,
    deployment: targetDeploymentName(name),
    secret: secret ?? target.spec.secretRef.name,
    healthPort: target.spec.podTemplate?.healthPort,
  });
  return { name, object, ...workload };
}

export async function examineTunnel(cluster: Cluster, namespace: string, name: string): Promise<TunnelFacts> {
  const object = await cluster.get<TunnelResource>("tunnel", namespace, name);
  const tunnel = seen(object);
  if (tunnel === undefined) return { object, secret: nothing, pairs: [], consumers: nothing };
  const secret = await cluster.get<ObservedSecret>("secret", namespace, tunnelSecretName(name));
  const pairs: TunnelFacts["pairs"][number][] = [];
  const names = Array.from({ length: tunnel.spec.replicas }, (_, index) => pairName(name, index));
  // Not all at once: a Tunnel may have 64 pairs, and each takes a dozen requests.
  for (let index = 0; index < names.length; index += pairsAtOnce) {
    const some = names.slice(index, index + pairsAtOnce);
    pairs.push(...(await Promise.all(some.map((pair) => examinePair(cluster, namespace, pair, secret)))));
  }
  return { object, secret, pairs, consumers: await slicesOf(cluster, namespace, tunnel.spec.service.name) };
}

async function examinePair(cluster: Cluster, namespace: string, name: string, secret: Found<ObservedSecret>) {
  const [proxy, target] = await Promise.all([
    examineProxy(cluster, namespace, name, secret),
    examineTarget(cluster, namespace, name, secret),
  ]);
  return { proxy, target };
}

function noWorkload(): WorkloadFacts {
  return { secret: nothing, deployment: nothing, pods: nothing, nodes: nothing, agents: [] };
}

async function examineWorkload(
  cluster: Cluster,
  namespace: string,
  of: { selector: string; deployment: string; secret: string | Found<ObservedSecret>; healthPort: number | undefined },
): Promise<WorkloadFacts> {
  const [secret, deployment, pods] = await Promise.all([
    typeof of.secret === "string" ? cluster.get<ObservedSecret>("secret", namespace, of.secret) : of.secret,
    cluster.get<ObservedDeployment>("deployment", namespace, of.deployment),
    cluster.list<ObservedPod>("pod", namespace, of.selector),
  ]);
  const running = runningPods({ pods });
  const [nodes, agents] = await Promise.all([
    nodesOf(cluster, running),
    askAgents(cluster, namespace, running, of.healthPort),
  ]);
  return { secret, deployment, pods, nodes, agents };
}

async function nodesOf(cluster: Cluster, pods: readonly ObservedPod[]): Promise<Found<readonly ObservedNode[]>> {
  const names = [...new Set(pods.flatMap(({ spec }) => spec?.nodeName ?? []))];
  const looks = await Promise.all(names.map((name) => cluster.get<ObservedNode>("node", "", name)));
  const failed = looks.find((look) => "unknown" in look);
  return failed ?? { found: looks.flatMap((look) => seen(look) ?? []) };
}

function slicesOf(cluster: Cluster, namespace: string, service: string): Promise<Found<readonly SliceFacts[]>> {
  return cluster.list<SliceFacts>("endpointSlice", namespace, `kubernetes.io/service-name=${service}`);
}
