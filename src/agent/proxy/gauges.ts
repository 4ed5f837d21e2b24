import type { AgentMetrics } from "../../metrics.ts";
import { wires } from "../net/wire.ts";
import type { ProxySession } from "./proxy-core.ts";
import type { NetaminitySession } from "./session.ts";

interface Measured {
  sessions(): readonly ProxySession[];
  netaminity(): readonly NetaminitySession[];
  isDraining(): boolean;
}

/** What a proxy is at the moment of each look at its metrics. */
export function measureProxy(metrics: AgentMetrics, proxy: Measured): void {
  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
  metrics.gauge("sessions", "Sessions that are up.", () => proxy.sessions().length);
  metrics.gauge(
    "sessions_encrypted",
    "Sessions that are up and encrypted.",
    () => proxy.sessions().filter((session) => session.encrypted).length,
  );
  metrics.gauge("pool_idle", "Proxy: idle data connections.", () => sum(proxy.netaminity().map(({ idle }) => idle)));
  metrics.gauge("consumers_waiting", "Proxy: consumers that wait for a data connection.", () =>
    sum(proxy.sessions().map(({ waiting }) => waiting)),
  );
  metrics.gauge("session_rtt_seconds", "Round trip to the peer, the longest of all sessions.", () =>
    Math.max(0, ...proxy.netaminity().map(({ roundTrip }) => (roundTrip ?? 0) / 1000)),
  );
  metrics.gauge("draining", "1 while the process drains.", () => (proxy.isDraining() ? 1 : 0));
  metrics.gauge("buffered_bytes", "Bytes held because a receiver is slower than its sender.", () => wires.buffered);
}
