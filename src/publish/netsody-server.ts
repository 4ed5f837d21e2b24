import { createHash, timingSafeEqual } from "node:crypto";
import type { PublishMetrics } from "./metrics.ts";

export interface NetsodyServerOptions {
  listen: { host: string; port: number };
  /** Of the path: `/netsody/NETWORK.toml`. */
  network: string;
  /** What is published; undefined when there is nothing yet. */
  text: () => string | undefined;
  /** Who may read it. Throws when it cannot be had now. */
  login: () => { username: string; password: string };
  metrics: Pick<PublishMetrics, "served">;
}

export interface NetsodyServer {
  port: number;
  stop(): void;
}

/** Serves the network to agents, which ask every 10 s and keep the last file that was good. Throws what Bun.serve throws. */
export function serveNetsody(options: NetsodyServerOptions): NetsodyServer {
  const { listen, network } = options;
  let known = { text: "", etag: "" };
  const etagOf = (text: string) => {
    if (known.etag === "" || known.text !== text) {
      known = { text, etag: `"${createHash("sha256").update(text).digest("hex")}"` };
    }
    return known.etag;
  };
  const answer = (request: Request): Response => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return plain("only GET and HEAD are answered here", 405, { allow: "GET, HEAD" });
    }
    if (!isKnown(request.headers.get("authorization") ?? "", options.login())) {
      return plain("user and password are needed", 401, { "www-authenticate": 'Basic realm="netsody"' });
    }
    const text = options.text();
    if (text === undefined || text === "") {
      return plain("nothing is published yet", 503, { "retry-after": "10" });
    }
    const headers = { etag: etagOf(text), "cache-control": "no-cache" };
    if (matches(request.headers.get("if-none-match"), headers.etag)) {
      return new Response(null, { status: 304, headers });
    }
    return new Response(text, { headers: { ...headers, "content-type": "application/toml; charset=utf-8" } });
  };
  const counted = (make: (request: Request) => Response) => (request: Request) => {
    const response = make(request);
    options.metrics.served.inc({ code: String(response.status) });
    return response;
  };
  const server = Bun.serve({
    hostname: listen.host,
    port: listen.port,
    development: false,
    idleTimeout: 30,
    maxRequestBodySize: 1024,
    routes: { [`/netsody/${network}.toml`]: counted(answer) },
    fetch: counted(() => plain("not found", 404)),
    error: () => plain("internal error", 500),
  });
  return { port: server.port ?? listen.port, stop: () => void server.stop(true) };
}

/** Both are compared as digests: the time that it takes tells nothing. */
function isKnown(given: string, { username, password }: { username: string; password: string }): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const wanted = Buffer.from(`${username}:${password}`).toString("base64");
  const [, shown = ""] = /^basic +(\S+)$/i.exec(given) ?? [];
  return timingSafeEqual(digest(shown), digest(wanted));
}

/** RFC 9110, section 13.1.2: a list, or `*`; weak ones count too. */
function matches(header: string | null, etag: string): boolean {
  const given = (header ?? "").split(",").map((each) => each.trim().replace(/^W\//, ""));
  return given.includes(etag) || given.includes("*");
}

function plain(body: string, status: number, headers: Record<string, string> = {}): Response {
  return new Response(`${body}\n`, { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers } });
}
