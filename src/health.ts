import { formatHostPort, type HostPort } from "./endpoint.ts";
import { listenFailure } from "./errors.ts";

export interface HealthOptions {
  listen: HostPort;
  /** Why the role cannot do its job now; undefined when it can. */
  notReady: () => string | undefined;
  metrics: () => Promise<{ contentType: string; body: string }>;
}

export interface HealthServer {
  /** The port that is really listened on. */
  port: number;
  stop(): void;
}

/**
 * Serves `/healthz` (200 while the event loop runs, whatever the peers do), `/readyz` (200 `ready`, or 503 with the reason)
 * and `/metrics` (Prometheus text). Throws ListenError when the address cannot be listened on.
 */
export function startHealth(options: HealthOptions): HealthServer {
  const { listen } = options;
  try {
    const server = Bun.serve({
      hostname: listen.host,
      port: listen.port,
      development: false,
      idleTimeout: 30,
      maxRequestBodySize: 1024,
      // Not by request.url, which cannot be had when the Host is missing (HTTP/1.0) or no Host at all (Bun 1.4.5).
      routes: {
        "/healthz": read(() => text("alive")),
        "/readyz": read(() => readiness(options.notReady())),
        "/metrics": read(() => exposition(options.metrics())),
      },
      fetch: read(() => text("not found; served here: /healthz, /readyz, /metrics", 404)),
      error: () => text("internal error", 500),
    });
    return { port: server.port ?? listen.port, stop: () => void server.stop(true) };
  } catch (cause) {
    throw listenFailure(`${formatHostPort(listen)} (health-listen)`, cause);
  }
}

type Answer = Response | Promise<Response>;

/** Answers requests that only read. */
function read(answer: () => Answer): (request: Request) => Answer {
  return ({ method }) =>
    method === "GET" || method === "HEAD"
      ? answer()
      : text("only GET and HEAD are answered here", 405, { allow: "GET, HEAD" });
}

function readiness(reason: string | undefined): Response {
  return reason === undefined ? text("ready") : text(reason, 503);
}

async function exposition(metrics: ReturnType<HealthOptions["metrics"]>): Promise<Response> {
  const { contentType, body } = await metrics;
  return new Response(body, { headers: { "content-type": contentType } });
}

function text(body: string, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(`${body}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers } });
}
