import { Counter, type Registry } from "prom-client";

/** What the client of the API server counts. */
export type KubeMetrics = ReturnType<typeof createKubeMetrics>;

/** `prefix` stands before every name, without the underscore between. */
export function createKubeMetrics(prefix: string, registers: Registry[]) {
  return {
    apiRequests: new Counter({
      name: `${prefix}_api_requests_total`,
      help: "Requests to the API server by verb, resource and HTTP code (0: no answer).",
      labelNames: ["verb", "resource", "code"] as const,
      registers,
    }),
    watchRestarts: new Counter({
      name: `${prefix}_watch_restarts_total`,
      help: "Watches that ended and were started again, by resource and cause (end, idle, gone, error).",
      labelNames: ["resource", "cause"] as const,
      registers,
    }),
    eventsDropped: new Counter({
      name: `${prefix}_events_dropped_total`,
      help: "Kubernetes Events that were not recorded because too many came at once or the API server refused them.",
      registers,
    }),
  };
}
