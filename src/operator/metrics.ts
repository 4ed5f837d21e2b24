import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { createKubeMetrics } from "../kube/metrics.ts";
import { countDroppedLines } from "../metrics.ts";
import { createObjectMetrics, type ObjectState } from "./object-metrics.ts";

/** Everything that the operator counts, in a registry of its own. */
export type OperatorMetrics = ReturnType<typeof createOperatorMetrics>;

/** `objects`: all Tunnels, Proxies and Targets that this replica reconciles now. */
export function createOperatorMetrics(objects: () => Iterable<ObjectState> = () => []) {
  const registry = new Registry();
  const registers = [registry];
  countDroppedLines(registers);
  return {
    registry,
    ...createKubeMetrics("netaminity_operator", registers),
    ...createObjectMetrics(registers, objects),
    expose: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
    queueDepth: new Gauge({
      name: "netaminity_operator_queue_depth",
      help: "Objects that wait for a reconcile now (delayed ones are not counted).",
      registers,
    }),
    reconciles: new Counter({
      name: "netaminity_operator_reconciles_total",
      help: "Reconciles by kind and result (ok, error).",
      labelNames: ["kind", "result"] as const,
      registers,
    }),
    reconcileSeconds: new Histogram({
      name: "netaminity_operator_reconcile_duration_seconds",
      help: "Time that one reconcile took, by kind.",
      labelNames: ["kind"] as const,
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
      registers,
    }),
    cachedObjects: new Gauge({
      name: "netaminity_operator_cached_objects",
      help: "Objects held in memory, by resource.",
      labelNames: ["resource"] as const,
      registers,
    }),
    probes: new Counter({
      name: "netaminity_operator_probes_total",
      help: "Health probes of proxy pods by result (answered, silent).",
      labelNames: ["result"] as const,
      registers,
    }),
    namespacesLeftAlone: new Gauge({
      name: "netaminity_operator_namespaces_left_alone",
      help: "Namespaces that this replica should serve while it leads and does not, by reason (unreadable, other-release).",
      labelNames: ["reason"] as const,
      registers,
    }),
    rollouts: new Gauge({
      name: "netaminity_operator_rollouts",
      help: "Proxies and Targets whose pods are being changed now (changing), or wait for that (waiting) because config.maxRollouts others are.",
      labelNames: ["state"] as const,
      registers,
    }),
    leader: new Gauge({
      name: "netaminity_operator_leader",
      help: "1 while this replica reconciles, else 0.",
      registers,
    }),
  };
}
