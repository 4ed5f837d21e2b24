import type { ProxyResource } from "../api/proxy.ts";
import type { TargetResource } from "../api/target.ts";
import type { TunnelResource } from "../api/tunnel.ts";
import { type Overview, ownerOf, type Row, rowsOf } from "../doctor/overview.ts";
import { sumOf } from "../doctor/samples.ts";
import type { ObservedPod } from "../plan/observed.ts";
import { isReady, isStaying } from "../plan/pods.ts";
import { podsFailing } from "../plan/workload-checks.ts";
import type { ConditionPicture, Line, Numbers, PairPicture, Picture, PodPicture, State } from "./picture-types.ts";

type Own = TunnelResource | ProxyResource | TargetResource;

/** What the page draws, from one look at the cluster. `now` in milliseconds of the epoch. */
export function pictureOf(overview: Overview, now: number): Picture {
  const rows = rowsOf(overview, now);
  const owns = new Map<string, Own>(
    [...overview.tunnels, ...overview.proxies, ...overview.targets].map((own) => [keyOf(own.kind, own.metadata), own]),
  );
  const pods = podsByOwner(overview);
  const lines = rows.flatMap((row) => {
    const own = owns.get(keyOf(row.kind, row));
    return own === undefined || row.tunnel !== undefined ? [] : [lineOf(own, row, { owns, pods })];
  });
  return { at: new Date(now).toISOString(), lines };
}

export function keyOf(kind: string, { namespace, name }: { namespace: string; name: string }): string {
  return `${kind.toLowerCase()}/${namespace}/${name}`;
}

interface Known {
  owns: ReadonlyMap<string, Own>;
  /** By the key of their Proxy or Target. */
  pods: ReadonlyMap<string, PodPicture[]>;
}

function lineOf(own: Own, row: Row, known: Known): Line {
  const numbers = numbersOf(row);
  const { namespace, name } = own.metadata;
  const conditions = (own.status?.conditions ?? []).map(conditionPicture);
  const consumers = own.kind === "Target" ? undefined : own.status?.consumerEndpoint;
  const backend =
    own.kind === "Tunnel" ? own.spec.target.endpoint : own.kind === "Target" ? own.spec.endpoint : undefined;
  return {
    ...{ key: keyOf(own.kind, own.metadata), kind: own.kind, namespace, name },
    ...{ state: stateOf(own, conditions), conditions, encryption: own.spec.encryption },
    ...(consumers !== undefined && { consumers }),
    ...(backend !== undefined && { backend }),
    pairs: pairsOf(own, known),
    ...(numbers !== undefined && { numbers }),
  };
}

function conditionPicture(given: NonNullable<Own["status"]>["conditions"][number]): ConditionPicture {
  const { type, status, reason, message, lastTransitionTime: since } = given;
  return { type, status, reason, message, since };
}

function numbersOf({ sessions, encrypted, streams, toBackend, toConsumer }: Row): Numbers | undefined {
  if (sessions === undefined || encrypted === undefined || streams === undefined) return undefined;
  if (toBackend === undefined || toConsumer === undefined) return undefined;
  return { sessions, encrypted, streams, toBackend, toConsumer };
}

/** What a consumer would find. A Proxy without a session refuses consumers, although it is Ready. */
function stateOf(own: Own, conditions: readonly ConditionPicture[]): State {
  const is = (type: string) => conditions.find((condition) => condition.type === type);
  const ready = is("Ready");
  if (ready === undefined || ready.status === "Unknown") return "unknown";
  if (ready.reason === "ScaledToZero") return "off";
  const serves = own.kind === "Proxy" ? is("Connected") : ready;
  if (serves?.status === "True") return is("Updated")?.status === "False" && is("Stalled") ? "partly" : "ready";
  return is("Available")?.status === "True" ? "partly" : "down";
}

function pairsOf(own: Own, { owns, pods }: Known): PairPicture[] {
  const { namespace, name } = own.metadata;
  if (own.kind === "Target") {
    const targets = pods.get(keyOf("Target", own.metadata)) ?? [];
    return [{ name, rendezvous: own.spec.proxyEndpoint, targets }];
  }
  if (own.kind === "Proxy") {
    const rendezvous = own.status?.proxyEndpoint;
    const proxies = pods.get(keyOf("Proxy", own.metadata)) ?? [];
    return [{ name, ...(rendezvous !== undefined && { rendezvous }), proxies }];
  }
  return (own.status?.replicasStatus ?? []).map(({ proxy, target, endpoint }) => {
    const [proxyKey, targetKey] = [
      keyOf("Proxy", { namespace, name: proxy }),
      keyOf("Target", { namespace, name: target }),
    ];
    return {
      name: proxy,
      ...(endpoint !== undefined && { rendezvous: endpoint }),
      proxies: owns.has(proxyKey) ? (pods.get(proxyKey) ?? []) : [],
      targets: owns.has(targetKey) ? (pods.get(targetKey) ?? []) : [],
    };
  });
}

function podsByOwner({ pods = [], proxies, samples }: Overview): Map<string, PodPicture[]> {
  const active = new Map(proxies.map((proxy) => [keyOf("Proxy", proxy.metadata), proxy.status?.activePod]));
  const found = new Map<string, PodPicture[]>();
  for (const pod of pods.filter(isStaying)) {
    const owner = ownerOf(pod);
    if (owner === undefined) continue;
    const key = keyOf(owner.kind, owner);
    const role = owner.kind === "Target" ? "target" : active.get(key) === pod.metadata.name ? "active" : "standby";
    found.set(key, [...(found.get(key) ?? []), podPicture(pod, role, samples)]);
  }
  for (const some of found.values())
    some.sort((a, b) => (a.role === b.role ? compare(a.name, b.name) : compare(a.role, b.role)));
  return found;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function podPicture(pod: ObservedPod, role: PodPicture["role"], samples: Overview["samples"]): PodPicture {
  const said = samples.get(pod.metadata.uid);
  const trouble = podsFailing([pod])?.message.replace(/^pod \S+: /, "");
  return {
    ...{ name: pod.metadata.name, node: pod.spec?.nodeName ?? "", role, isReady: isReady(pod) },
    ...(trouble !== undefined && { trouble }),
    ...(said !== undefined && {
      sessions: sumOf(said, "netaminity_sessions"),
      streams: sumOf(said, "netaminity_streams_open"),
    }),
  };
}
