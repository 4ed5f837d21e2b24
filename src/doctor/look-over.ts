import type { ProxyResource } from "../api/proxy.ts";
import type { TargetResource } from "../api/target.ts";
import type { TunnelResource } from "../api/tunnel.ts";
import { healthPort, labels } from "../names.ts";
import type { ObservedPod } from "../plan/observed.ts";
import { askForSamples } from "./agents.ts";
import { CannotAskError, type Cluster } from "./cluster.ts";
import { type Found, seen } from "./facts.ts";
import type { Overview } from "./overview.ts";
import { runningPods } from "./pod-checks.ts";
import type { Samples } from "./samples.ts";

/** Pods that are asked at once. */
const atOnce = 16;

/** Lists the three kinds and asks their agents for metrics. Throws CannotAskError when the kinds cannot be listed. */
export async function lookOver(cluster: Cluster, namespace: string | undefined): Promise<Overview> {
  const [tunnels, proxies, targets, pods] = await Promise.all([
    cluster.list<TunnelResource>("tunnel", namespace),
    cluster.list<ProxyResource>("proxy", namespace),
    cluster.list<TargetResource>("target", namespace),
    cluster.list<ObservedPod>("pod", namespace, `${labels.managedBy}=netaminity,${labels.component} in (proxy,target)`),
  ]);
  const overview = {
    tunnels: needed(tunnels),
    proxies: needed(proxies),
    targets: needed(targets),
    pods: "unknown" in pods ? undefined : (seen(pods) ?? []),
  };
  return { ...overview, samples: await samplesOf(cluster, overview) };
}

function needed<T>(look: Found<T>): T {
  if ("found" in look) return look.found;
  throw new CannotAskError(
    "unknown" in look
      ? look.unknown
      : "this cluster does not know the kinds of netaminity: install the chart, or choose another --context",
  );
}

async function samplesOf(
  cluster: Cluster,
  { pods, proxies, targets }: Omit<Overview, "samples">,
): Promise<Map<string, Samples>> {
  const samples = new Map<string, Samples>();
  const rest = runningPods({ pods: { found: pods ?? [] } }).values();
  const worker = async () => {
    for (const { metadata } of rest) {
      const { namespace = "", name, labels: own = {} } = metadata;
      const owner = [...proxies, ...targets].find(
        (object) =>
          object.metadata.namespace === namespace &&
          object.metadata.name === own[labels[object.kind === "Proxy" ? "proxy" : "target"]],
      );
      const answer = await askForSamples(cluster, namespace, name, owner?.spec.podTemplate?.healthPort ?? healthPort);
      if ("found" in answer) samples.set(metadata.uid, answer.found);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return samples;
}
