import type { ProxyResource } from "../api/proxy.ts";
import type { TargetResource } from "../api/target.ts";
import type { TunnelResource } from "../api/tunnel.ts";
import { healthPort, labels } from "../names.ts";
import type { ObservedPod } from "../plan/observed.ts";
import { askForSamples } from "./agents.ts";
import { CannotAskError, type Cluster, kindsAreUnknown } from "./cluster.ts";
import { type Found, seen } from "./facts.ts";
import { type Overview, ownerOf } from "./overview.ts";
import { runningPods } from "./pod-checks.ts";
import type { Samples } from "./samples.ts";

/** Pods that are asked at once. */
const atOnce = 16;

/** Lists the three kinds and asks their agents for metrics. Throws CannotAskError when the kinds cannot be listed. */
export async function lookOver(cluster: Cluster, namespace: string | undefined): Promise<Overview> {
  const listed = await listAll(cluster, namespace);
  return { ...listed, samples: await samplesOf(cluster, agentsOf(listed)) };
}

export type Listed = Omit<Overview, "samples">;

/** The same without asking the agents. */
export async function listAll(cluster: Cluster, namespace: string | undefined): Promise<Listed> {
  const [tunnels, proxies, targets, pods] = await Promise.all([
    cluster.list<TunnelResource>("tunnel", namespace),
    cluster.list<ProxyResource>("proxy", namespace),
    cluster.list<TargetResource>("target", namespace),
    cluster.list<ObservedPod>("pod", namespace, `${labels.managedBy}=netaminity,${labels.component} in (proxy,target)`),
  ]);
  return {
    tunnels: needed(tunnels),
    proxies: needed(proxies),
    targets: needed(targets),
    pods: "unknown" in pods ? undefined : (seen(pods) ?? []),
  };
}

function needed<T>(look: Found<T>): T {
  if ("found" in look) return look.found;
  throw new CannotAskError("unknown" in look ? look.unknown : kindsAreUnknown);
}

/** Where an agent is asked. */
export interface AgentAddress {
  uid: string;
  namespace: string;
  name: string;
  /** Of its health server. */
  port: number;
}

/** The agents that run. */
export function agentsOf({ pods, proxies, targets }: Listed): AgentAddress[] {
  const ports = new Map(
    [...proxies, ...targets].map(({ kind, metadata, spec }) => [
      [kind, metadata.namespace, metadata.name].join("/"),
      spec.podTemplate?.healthPort,
    ]),
  );
  return runningPods({ pods: { found: pods ?? [] } }).map((pod) => {
    const { uid, namespace = "", name } = pod.metadata;
    const owner = ownerOf(pod);
    return { uid, namespace, name, port: ports.get([owner?.kind, namespace, owner?.name].join("/")) ?? healthPort };
  });
}

async function samplesOf(cluster: Cluster, agents: readonly AgentAddress[]): Promise<Map<string, Samples>> {
  const samples = new Map<string, Samples>();
  const rest = agents.values();
  const worker = async () => {
    for (const { uid, namespace, name, port } of rest) {
      const answer = await askForSamples(cluster, namespace, name, port);
      if ("found" in answer) samples.set(uid, answer.found);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return samples;
}
