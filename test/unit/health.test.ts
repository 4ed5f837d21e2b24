import { expect, test } from "bun:test";
import { ListenError } from "../../src/errors.ts";
import { type HealthOptions, startHealth } from "../../src/health.ts";
import { waitFor } from "../support/cluster/wait.ts";

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

test("who waits for readiness is told as soon as it is there, or after the time that was asked for", async () => {
  let reason: string | undefined = "no session";
  using health = startedHealth({ notReady: () => reason });
  const waiting = health.get("/readyz?wait=3600");
  expect(await health.get("/readyz?wait=1")).toEqual([503, "no session\n"]);
  expect(Bun.peek.status(waiting)).toBe("pending");
  reason = undefined;
  expect(await waiting).toEqual([200, "ready\n"]);
  expect(await health.get("/readyz?wait=3600")).toEqual([200, "ready\n"]);
});

test("few may wait at once, who leaves makes room, and all are answered when the server stops", async () => {
  const health = startedHealth({ notReady: () => "no session" });
  const leaving = new AbortController();
  const first = health.get("/readyz?wait=3600", { signal: leaving.signal }).catch(() => "left");
  const others = Array.from({ length: 8 }, () => health.get("/readyz?wait=3600").catch(() => "cut"));
  // One of the nine found no room.
  expect(await Promise.race([first, ...others])).toEqual([503, "no session\n"]);
  leaving.abort();
  await first;
  await waitFor("room for one more", { deadline: 10_000 }, async () => {
    const asked = health.get("/readyz?wait=3600").catch(() => "cut");
    const isHeld = (await Promise.race([asked, Bun.sleep(500).then(() => "held")])) === "held";
    if (isHeld) others.push(asked);
    return isHeld;
  });
  health[Symbol.dispose]();
  for (const answer of await Promise.all(others)) {
    expect(["cut", "503"]).toContain(typeof answer === "string" ? answer : `${answer[0]}`);
  }
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

/** Sends bytes as they are and returns the status and the body of the answer. */
async function rawAnswer(port: number, request: string): Promise<[status: number, body: string]> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = "";
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data: (_, chunk) => {
        received += chunk.toString("latin1");
      },
      end: (ended) => void ended.end(),
      close: () => resolve(received),
    },
  });
  socket.write(Buffer.from(request, "latin1"));
  const [head = "", ...body] = (await promise).split("\r\n\r\n");
  return [Number(head.split(" ")[1]), body.join("").trim()];
}

const alive: [number, string] = [200, "alive"];
const refused: [number, string] = [400, ""];
const close = "Connection: close\r\n\r\n";

test.each([
  ["HTTP/1.0 without Host, as HAProxy's httpchk sends it", "GET /healthz HTTP/1.0\r\n\r\n", alive],
  ["HEAD of HTTP/1.0", "HEAD /healthz HTTP/1.0\r\n\r\n", [200, ""]],
  ["OPTIONS of HTTP/1.0", "OPTIONS / HTTP/1.0\r\n\r\n", [405, "only GET and HEAD are answered here"]],
  ["an empty Host", `GET /healthz HTTP/1.1\r\nHost:\r\n${close}`, alive],
  ["a Host with a blank", `GET /healthz HTTP/1.1\r\nHost: a b\r\n${close}`, alive],
  ["half of an IPv6 Host", `GET /healthz HTTP/1.1\r\nHost: [::1\r\n${close}`, alive],
  ["a Host that is no port", `GET /healthz HTTP/1.1\r\nHost: x:99999\r\n${close}`, alive],
  ["a Host that is no text", `GET /healthz HTTP/1.1\r\nHost: \xff\xfe\r\n${close}`, alive],
  ["a Host that looks like a path", `GET /healthz HTTP/1.1\r\nHost: a/readyz?\r\n${close}`, alive],
  ["two Hosts", `GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n${close}`, alive],
  ["a whole address", `GET http://other/healthz HTTP/1.1\r\nHost: a\r\n${close}`, alive],
  ["a question", `GET /healthz?verbose=%ff HTTP/1.1\r\nHost: a\r\n${close}`, alive],
  ["no path", "GET healthz HTTP/1.1\r\nHost: a\r\n\r\n", refused],
  ["HTTP/1.1 without Host", "GET /healthz HTTP/1.1\r\n\r\n", refused],
  ["a header without a name", "GET /healthz HTTP/1.1\r\nHost: a\r\n: 1\r\n\r\n", refused],
  ["a length below zero", "POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", refused],
  ["a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", refused],
  ["no HTTP", "garbage\r\n\r\n", refused],
  ["HTTP/2", "GET /healthz HTTP/2.0\r\n\r\n", [505, ""]],
  ["a header that is too large", `GET /healthz HTTP/1.1\r\nHost: a\r\nX: ${"y".repeat(20_000)}\r\n\r\n`, [431, ""]],
] as [string, string, [number, string]][])("%s gets an answer", async (_, request, answer) => {
  using health = startedHealth();
  expect(await rawAnswer(health.port, request)).toEqual(answer);
});
