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

/** Questions that wait for readiness at once; further ones are answered as if they did not. */
const maxWaiting = 8;
/** Milliseconds from one look at the readiness to the next while somebody waits for it. */
const look = 100;

/**
 * Serves `/healthz` (200 while the event loop runs, whatever the peers do), `/readyz` (200 `ready`, or 503 with the reason; with
 * `?wait=SECONDS` the latter only after so long without becoming ready) and `/metrics` (Prometheus text). Throws ListenError when the address
 * cannot be listened on.
 */
export function startHealth(options: HealthOptions): HealthServer {
  const { listen, notReady } = options;
  const stopping = new AbortController();
  let waiting = 0;
  /** Tells of readiness as soon as it is there: whoever asks again and again is told later, and Kubernetes makes an Event of each refusal. */
  const readiness: Handler = async (request, server) => {
    const seconds = askedWait(request);
    if (seconds > 0 && waiting < maxWaiting) {
      server.timeout(request, 0);
      waiting += 1;
      const over = AbortSignal.any([stopping.signal, request.signal, AbortSignal.timeout(seconds * 1000)]);
      while (notReady() !== undefined && !over.aborted) await Bun.sleep(look);
      waiting -= 1;
    }
    const reason = notReady();
    return reason === undefined ? text("ready") : text(reason, 503);
  };
  try {
    const server = Bun.serve({
      hostname: listen.host,
      port: listen.port,
      development: false,
      idleTimeout: 30,
      maxRequestBodySize: 1024,
      // Not by request.url, which throws when the Host is missing (HTTP/1.0) or no Host at all (Bun 1.4.5).
      routes: {
        "/healthz": read(() => text("alive")),
        "/readyz": read(readiness),
        "/metrics": read(() => exposition(options.metrics())),
      },
      fetch: read(() => text("not found; served here: /healthz, /readyz, /metrics", 404)),
      error: () => text("internal error", 500),
    });
    return {
      port: server.port ?? listen.port,
      stop: () => {
        stopping.abort();
        void server.stop(true);
      },
    };
  } catch (cause) {
    throw listenFailure(`${formatHostPort(listen)} (health-listen)`, cause);
  }
}

type Handler = (request: Request, server: Pick<Bun.Server<undefined>, "timeout">) => Response | Promise<Response>;

/** Seconds; a day and some hours at most. */
function askedWait(request: Request): number {
  try {
    return Number(/\?wait=(\d{1,5})$/.exec(request.url)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Answers requests that only read. */
function read(answer: Handler): Handler {
  return (request, server) =>
    request.method === "GET" || request.method === "HEAD"
      ? answer(request, server)
      : text("only GET and HEAD are answered here", 405, { allow: "GET, HEAD" });
}

async function exposition(metrics: ReturnType<HealthOptions["metrics"]>): Promise<Response> {
  const { contentType, body } = await metrics;
  return new Response(body, { headers: { "content-type": contentType } });
}

function text(body: string, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(`${body}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers } });
}
