import { Gauge, type Registry } from "prom-client";
import type { Condition } from "../api/conditions.ts";
import type { ConditionType } from "../plan/conditions.ts";

/** What is told of one Tunnel, Proxy or Target. */
export interface ObjectState {
  kind: string;
  metadata: { namespace: string; name: string };
  status?: { conditions: readonly Condition[] };
}

/** The others say how something else comes about. */
const told: readonly string[] = ["Ready", "Available", "Connected", "Updated"] satisfies ConditionType[];

/**
 * Gauges of each object's conditions, read from `objects` at each scrape. So they are there, and alerts on them fire, also for an object that has no pods of which
 * anything could be scraped.
 */
export function createObjectMetrics(registers: Registry[], objects: () => Iterable<ObjectState>) {
  const conditions = function* () {
    for (const { kind, metadata, status } of objects()) {
      const { namespace, name } = metadata;
      for (const { type, status: holds, reason } of status?.conditions ?? []) {
        if (told.includes(type)) yield { labels: { kind, namespace, name, condition: type }, holds, reason };
      }
    }
  };
  return {
    objectReady: new Gauge({
      name: "netaminity_object_ready",
      help: "1 while a condition (Ready, Available, Connected, Updated) of a Tunnel, Proxy or Target is True, else 0. Of the replica that leads.",
      labelNames: ["kind", "namespace", "name", "condition"] as const,
      registers,
      collect() {
        this.reset();
        for (const { labels, holds } of conditions()) this.set(labels, holds === "True" ? 1 : 0);
      },
    }),
    objectReason: new Gauge({
      name: "netaminity_object_reason",
      help: "1 for the reason of each of these conditions that is not True.",
      labelNames: ["kind", "namespace", "name", "condition", "reason"] as const,
      registers,
      collect() {
        this.reset();
        for (const { labels, holds, reason } of conditions()) {
          if (holds !== "True") this.set({ ...labels, reason }, 1);
        }
      },
    }),
  };
}
