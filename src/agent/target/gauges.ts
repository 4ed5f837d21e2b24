import type { AgentMetrics } from "../../metrics.ts";
import { wires } from "../net/wire.ts";
import type { TargetSession } from "./target-core.ts";

interface Measured {
  current(): TargetSession | undefined;
  sessions(): readonly TargetSession[];
  isDraining(): boolean;
  isBackendFailing(): boolean;
}

/** What a target is at the moment of each look at its metrics. */
export function measureTarget(metrics: AgentMetrics, target: Measured): void {
  const pool = (key: keyof TargetSession["pool"]) => () => target.current()?.pool[key] ?? 0;
  metrics.gauge("sessions", "Sessions that are up.", () => target.sessions().length);
  metrics.gauge(
    "sessions_encrypted",
    "Sessions that are up and encrypted.",
    () => target.sessions().filter((session) => session.encrypted).length,
  );
  metrics.gauge("pool_idle", "Idle data connections.", pool("idle"));
  metrics.gauge("pool_opening", "Target: data connections on their way.", pool("opening"));
  metrics.gauge("pool_size", "Target: idle data connections it wants to keep.", pool("wanted"));
  metrics.gauge("session_rtt_seconds", "Round trip to the peer.", () => (target.current()?.roundTrip ?? 0) / 1000);
  metrics.gauge("draining", "1 while the process drains.", () => (target.isDraining() ? 1 : 0));
  metrics.gauge("backend_failing", "Target: 1 while the latest connection to the backend did not come about.", () =>
    target.isBackendFailing() ? 1 : 0,
  );
  metrics.gauge("buffered_bytes", "Bytes held because a receiver is slower than its sender.", () => wires.buffered);
}
