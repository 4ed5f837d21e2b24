import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { createKubeMetrics } from "../kube/metrics.ts";
import { countDroppedLines } from "../metrics.ts";

/** Everything that the role publish counts, in a registry of its own. */
export type PublishMetrics = ReturnType<typeof createPublishMetrics>;

export function createPublishMetrics() {
  const registry = new Registry();
  const registers = [registry];
  countDroppedLines(registers);
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name: `netaminity_publish_${name}`, help, labelNames, registers });
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name: `netaminity_publish_${name}`, help, labelNames, registers });
  return {
    registry,
    ...createKubeMetrics("netaminity_publish", registers),
    expose: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
    rules: gauge(
      "rules",
      "Rules of the mesh as the last pass found them, by state (current, held, refused, foreign).",
      ["state"],
    ),
    passes: counter("passes_total", "Passes by result (ok, error).", ["result"]),
    passSeconds: new Histogram({
      name: "netaminity_publish_pass_duration_seconds",
      help: "Time that one pass took.",
      buckets: [0.01, 0.05, 0.25, 1, 5, 30],
      registers,
    }),
    lastSuccess: gauge("last_success_timestamp_seconds", "When the last pass ended well, in seconds since 1970."),
    writes: counter("writes_total", "What was written to the mesh, by verb (create, update, delete).", ["verb"]),
    meshRequests: counter(
      "mesh_requests_total",
      "Requests to the mesh by method, resource and HTTP code (0: no answer).",
      ["method", "resource", "code"],
    ),
    pendingNodes: gauge("pending_nodes", "Nodes for which nothing can be published now, by reason.", ["reason"]),
    refusedDeletions: gauge(
      "refused_deletions",
      "Deletions that the last pass refused because they were too many at once.",
    ),
    leakedEndpoints: gauge("leaked_endpoints", "Members of the mesh that are reached at an address inside a pod CIDR."),
    served: counter("served_total", "Netsody: answers to agents by HTTP code.", ["code"]),
    leader: gauge("leader", "1 while this replica publishes, else 0."),
  };
}
