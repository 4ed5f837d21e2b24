import { expect, test } from "bun:test";
import { ListenError } from "../../src/errors.ts";
import { type HealthOptions, startHealth } from "../../src/health.ts";

function startedHealth(options: Partial<HealthOptions> = {}) {
  const server = startHealth({
    listen: { host: "127.0.0.1", port: 0 },
    notReady: () => undefined,
    metrics: async () => ({ contentType: "text/plain; version=0.0.4", body: "netaminity_sessions 1\n" }),
    ...options,
  });
  return {
    port: server.port,
    get: async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`, init);
      return [response.status, await response.text()];
    },
    [Symbol.dispose]: () => server.stop(),
  };
}

test("the health is 200 whatever the readiness, and the readiness gives its reason", async () => {
  let reason: string | undefined = "no session";
  using health = startedHealth({ notReady: () => reason });
  expect([await health.get("/healthz"), await health.get("/readyz")]).toEqual([
    [200, "alive\n"],
    [503, "no session\n"],
  ]);
  reason = undefined;
  expect(await health.get("/readyz?verbose")).toEqual([200, "ready\n"]);
});

test("metrics have the content type of their registry", async () => {
  using health = startedHealth();
  const response = await fetch(`http://127.0.0.1:${health.port}/metrics`);
  expect([response.headers.get("content-type"), await response.text()]).toEqual([
    "text/plain; version=0.0.4",
    "netaminity_sessions 1\n",
  ]);
});

test("metrics that cannot be collected are a 500 and leave the rest alone", async () => {
  using health = startedHealth({ metrics: () => Promise.reject(new Error("collector")) });
  expect([await health.get("/metrics"), await health.get("/healthz")]).toEqual([
    [500, "internal error\n"],
    [200, "alive\n"],
  ]);
});

test("other paths are 404, other methods 405", async () => {
  using health = startedHealth();
  expect(await health.get("/")).toEqual([404, "not found; served here: /healthz, /readyz, /metrics\n"]);
  expect(await health.get("/readyz", { method: "POST", body: "x" })).toEqual([
    405,
    "only GET and HEAD are answered here\n",
  ]);
  expect(await health.get("/readyz", { method: "HEAD" })).toEqual([200, ""]);
});

test("on [::] the server answers IPv4 and IPv6", async () => {
  using health = startedHealth({ listen: { host: "::", port: 0 } });
  const answers = await Promise.all(
    ["127.0.0.1", "[::1]"].map(async (host) => (await fetch(`http://${host}:${health.port}/healthz`)).status),
  );
  expect(answers).toEqual([200, 200]);
});

test("a port that is taken is a start error that names setting and address", () => {
  using taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  expect(() => startedHealth({ listen: { host: "127.0.0.1", port: taken.port } })).toThrow(
    new ListenError(`cannot listen on 127.0.0.1:${taken.port} (health-listen): the address is in use (EADDRINUSE)`),
  );
});
