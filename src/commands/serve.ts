import type { HostPort } from "../endpoint.ts";
import { type HealthServer, startHealth } from "../health.ts";
import type { Log } from "../log.ts";
import { drainWithin, type StopSignal } from "./lifetime.ts";

/** What proxy and target have in common once they run. */
export interface RunningRole {
  notReady(): string | undefined;
  drain(timeout: number): Promise<void>;
  stop(): void;
}

export interface ServeOptions {
  role: RunningRole;
  healthListen: HostPort;
  /** Milliseconds. */
  drainTimeout: number;
  metrics: () => Promise<{ contentType: string; body: string }>;
  stop: StopSignal;
  log: Log;
  /** Called once with the port of the health server. */
  listening: (healthPort: number) => void;
}

/** Serves the health of a role until a signal comes, drains, and then ends the process with 0. */
export async function serveUntilStopped(options: ServeOptions): Promise<never> {
  const { role, stop, log } = options;
  let health: HealthServer;
  try {
    health = startHealth({
      listen: options.healthListen,
      notReady: () => (stop.received ? "draining" : role.notReady()),
      metrics: options.metrics,
    });
  } catch (error) {
    role.stop();
    throw error;
  }
  options.listening(health.port);

  const signal = await stop.first;
  log.info("draining", { signal, timeoutMs: options.drainTimeout });
  await drainWithin(role, options.drainTimeout, log);
  log.info("stopped");
  health.stop();
  process.exit(0);
}
