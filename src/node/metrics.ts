import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { createKubeMetrics } from "../kube/metrics.ts";
import { countDroppedLines } from "../metrics.ts";

/** Everything that the role counts, in a registry of its own. */
export type NodeMetrics = ReturnType<typeof createNodeMetrics>;

export function createNodeMetrics() {
  const registry = new Registry();
  const registers = [registry];
  countDroppedLines(registers);
  return {
    registry,
    ...createKubeMetrics("netaminity_node", registers),
    expose: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
    addresses: new Gauge({
      name: "netaminity_node_addresses",
      help: "Addresses of whole-IP Services that lead to a pod, by where the pod is (local, remote).",
      labelNames: ["pod"] as const,
      registers,
    }),
    findings: new Gauge({
      name: "netaminity_node_findings",
      help: "What is wrong with whole-IP Services now, by the reason that their Events have.",
      labelNames: ["reason"] as const,
      registers,
    }),
    applies: new Counter({
      name: "netaminity_node_applies_total",
      help: "Changes of the kernel's tables by result (ok, error).",
      labelNames: ["result"] as const,
      registers,
    }),
    changeSeconds: new Histogram({
      name: "netaminity_node_change_seconds",
      help: "Time from a change that the API server told until the kernel has it.",
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers,
    }),
    repairs: new Counter({
      name: "netaminity_node_repairs_total",
      help: "Tables that somebody else had changed and that were put right.",
      registers,
    }),
    tableErrors: new Gauge({
      name: "netaminity_node_table_errors",
      help: "Tables that are not in the kernel as they have to be, because the last try failed.",
      registers,
    }),
  };
}
