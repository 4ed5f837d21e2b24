import { errorText } from "../errors.ts";
import type { Log } from "../log.ts";
import { families } from "./address.ts";
import { readyEndpoints } from "./endpoint.ts";
import { askedMode, isLeftToUs } from "./mode.ts";
import type { NodeState } from "./observed.ts";
import type { NodeSettings } from "./plan.ts";

/** The health check of one Service, by which a load balancer finds the node with the pod. */
export interface HealthCheck {
  port: number;
  namespace: string;
  name: string;
  /** Ready endpoints on this node. */
  localEndpoints: number;
}

/** Those of Services that kube-proxy leaves to us: it serves the others itself. */
export function healthChecksOf(state: NodeState, { node, compatCozystack }: NodeSettings): HealthCheck[] {
  return [...state.services].flatMap((service) => {
    const port = service.spec?.healthCheckNodePort ?? 0;
    const asked = askedMode(service, compatCozystack);
    if (port === 0 || asked === undefined || "wrong" in asked || !isLeftToUs(service, compatCozystack)) {
      return [];
    }
    const { namespace, name } = service.metadata;
    const slices = state.slicesOf(namespace, name);
    const counts = families.map((family) => readyEndpoints(slices, family).filter((each) => each.node === node).length);
    return [{ port, namespace, name, localEndpoints: Math.max(...counts) }];
  });
}

export interface HealthChecks {
  /** Serves these from now on, and no others. */
  serve(checks: readonly HealthCheck[]): void;
  stop(): void;
}

/** Answers as kube-proxy does (pkg/proxy/healthcheck/service_health.go). */
export function createHealthChecks(log: Log): HealthChecks {
  const current = new Map<number, HealthCheck>();
  const servers = new Map<number, Bun.Server<undefined>>();
  const answer = (port: number) => {
    const { namespace = "", name = "", localEndpoints = 0 } = current.get(port) ?? {};
    return Response.json(
      { service: { namespace, name }, localEndpoints, serviceProxyHealthy: true },
      {
        status: localEndpoints > 0 ? 200 : 503,
        headers: { "X-Content-Type-Options": "nosniff", "X-Load-Balancing-Endpoint-Weight": String(localEndpoints) },
      },
    );
  };
  const close = (port: number) => {
    void servers.get(port)?.stop(true);
    servers.delete(port);
  };
  return {
    serve(checks) {
      current.clear();
      for (const check of checks) current.set(check.port, check);
      for (const port of [...servers.keys()]) {
        if (!current.has(port)) close(port);
      }
      for (const { port, namespace, name } of current.values()) {
        if (servers.has(port)) continue;
        try {
          servers.set(port, Bun.serve({ hostname: "::", port, development: false, fetch: () => answer(port) }));
        } catch (error) {
          log.warn("health check not served", { service: `${namespace}/${name}`, port, reason: errorText(error) });
        }
      }
    },
    stop() {
      for (const port of [...servers.keys()]) close(port);
    },
  };
}
