import type { ProxyResource } from "../api/proxy.ts";
import type { TargetResource } from "../api/target.ts";
import type { TunnelResource } from "../api/tunnel.ts";
import { labels } from "../names.ts";
import type { ObservedPod } from "../plan/observed.ts";
import { conditionOf } from "./facts.ts";
import { runningPods } from "./pod-checks.ts";
import { type Samples, sumOf } from "./samples.ts";

/** What one look at the cluster gave. */
export interface Overview {
  tunnels: readonly TunnelResource[];
  proxies: readonly ProxyResource[];
  targets: readonly TargetResource[];
  /** Undefined when they may not be listed. */
  pods: readonly ObservedPod[] | undefined;
  /** By uid of the pod; a pod that could not be asked is absent. */
  samples: ReadonlyMap<string, Samples>;
}

/** One line of the list. A number is absent when a pod that counts could not be asked: a part of it would be wrong. */
export interface Row {
  namespace: string;
  kind: "Tunnel" | "Proxy" | "Target";
  name: string;
  /** The Tunnel that made it. */
  tunnel?: string;
  ready: string;
  reason: string;
  sessions?: number;
  /** How many of them are encrypted. */
  encrypted?: number;
  streams?: number;
  toBackend?: number;
  toConsumer?: number;
  /** Seconds. */
  age: number;
}

type Own = TunnelResource | ProxyResource | TargetResource;

/** Every Tunnel followed by its Proxies and Targets, then those that stand alone. `now` in milliseconds of the epoch. */
export function rowsOf(overview: Overview, now: number): Row[] {
  const rows = [...overview.tunnels, ...overview.proxies, ...overview.targets].map((object) =>
    rowOf(object, overview, now),
  );
  const key = ({ namespace, kind, name, tunnel }: Row) =>
    [
      namespace,
      tunnel ?? (kind === "Tunnel" ? name : "\uffff"),
      kind === "Tunnel" ? "" : "1",
      pairNumber(name, tunnel),
      name,
      kind,
    ].join("\0");
  return rows.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

function rowOf(object: Own, overview: Overview, now: number): Row {
  const { namespace, name, ownerReferences = [], creationTimestamp = "" } = object.metadata;
  const tunnel = ownerReferences.find(({ kind, controller }) => kind === "Tunnel" && controller === true)?.name;
  const ready = conditionOf(object, "Ready");
  const totals = overview.pods === undefined ? {} : totalsOf(podsOf(object, overview.pods), overview.samples);
  return {
    namespace,
    kind: object.kind,
    name,
    ...(tunnel !== undefined && { tunnel }),
    ready: ready?.status ?? "Unknown",
    reason: ready?.reason ?? "NoStatus",
    ...totals,
    age: Math.max(0, Math.round((now - Date.parse(creationTimestamp)) / 1000)) || 0,
  };
}

/** A Tunnel counts what its proxy pods carry: the target pods carry the same. */
function podsOf({ kind, metadata: { namespace, name } }: Own, pods: readonly ObservedPod[]): ObservedPod[] {
  const wanted: Record<string, string> =
    kind === "Tunnel"
      ? { [labels.tunnel]: name, [labels.component]: "proxy" }
      : { [labels[kind === "Proxy" ? "proxy" : "target"]]: name };
  const own = pods.filter(
    ({ metadata }) =>
      metadata.namespace === namespace &&
      Object.entries(wanted).every(([key, value]) => metadata.labels?.[key] === value),
  );
  return runningPods({ pods: { found: own } });
}

/** The Proxy or Target that its labels name. */
export function ownerOf({
  metadata,
}: ObservedPod): { kind: "Proxy" | "Target"; namespace: string; name: string } | undefined {
  const { namespace = "", labels: own = {} } = metadata;
  const [proxy, target] = [own[labels.proxy], own[labels.target]];
  if (proxy !== undefined) return { kind: "Proxy", namespace, name: proxy };
  return target === undefined ? undefined : { kind: "Target", namespace, name: target };
}

function totalsOf(
  pods: readonly ObservedPod[],
  samples: Overview["samples"],
): Pick<Row, "sessions" | "encrypted" | "streams" | "toBackend" | "toConsumer"> {
  const all = pods.map(({ metadata }) => samples.get(metadata.uid));
  if (all.some((each) => each === undefined)) return {};
  const sum = (name: string, only?: Record<string, string>) =>
    all.reduce((total, each) => total + sumOf(each ?? [], `netaminity_${name}`, only), 0);
  return {
    sessions: sum("sessions"),
    encrypted: sum("sessions_encrypted"),
    streams: sum("streams_open"),
    toBackend: sum("stream_bytes_total", { direction: "to_backend" }),
    toConsumer: sum("stream_bytes_total", { direction: "to_consumer" }),
  };
}

/** So that pair 10 comes after pair 9. */
function pairNumber(name: string, tunnel: string | undefined): string {
  return tunnel === undefined ? "" : name.slice(tunnel.length + 1).padStart(4, "0");
}
