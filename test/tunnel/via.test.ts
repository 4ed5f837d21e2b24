import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { byHandPath } from "../../src/doctor/by-hand-checks.ts";
import { examineByHand } from "../../src/doctor/examine-by-hand.ts";
import { parseVia } from "../../src/via.ts";
import { startHttpProxy } from "../support/http-proxy.ts";
import { startProcess } from "../support/process.ts";
import { connectTcp, listenEcho, unusedPort } from "../support/tcp-ends.ts";
import { goodSecret, type Implementation, untilReady } from "../support/tunnel.ts";
import { compiled, executable } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";

setDefaultTimeout(60_000);

const password = "p@ss:w0rd";
const credentials = `jane:${encodeURIComponent(password)}`;
const authorization = `Basic ${Buffer.from(`jane:${password}`).toString("base64")}`;
/** Only the HTTP proxy knows it. */
const name = "rendezvous.invalid";

describe.each([inProcess, compiled])(
  "a target that only an HTTP proxy lets out, $name",
  (implementation: Implementation) => {
    test("carries consumers, over control and data connections to a name that only the HTTP proxy knows", async () => {
      await using http = await startHttpProxy({ names: { [name]: "127.0.0.1" }, authorization });
      await using backend = await listenEcho();
      await using proxy = await implementation.startProxy();
      const { port } = proxy.rendezvous;
      await using target = await implementation.startTarget({
        proxy: { host: name, port },
        via: `http://${credentials}@${http.host}:${http.port}`,
        backend,
      });
      await untilReady(target);
      await untilReady(proxy);
      for (let turn = 0; turn < 10; turn += 1) {
        await using consumer = await connectTcp(proxy.consumers.port);
        await consumer.send("hello");
        await consumer.untilReceived(5);
        consumer.finish();
        await consumer.untilFin();
      }
      // One for the session, the others for data connections, and none for the backend.
      expect(http.requests.length).toBeGreaterThan(1);
      const lines = new Set(http.requests.map((request) => request.split("\r\n")[0]));
      expect([...lines]).toEqual([`CONNECT ${name}:${port} HTTP/1.1`]);
      const [up] = target.log.all("session up");
      expect(up?.fields.proxy).toBe(`${name}:${port}`);
      for (const secret of [password, credentials, authorization]) expect(target.log.text()).not.toContain(secret);
    });

    test("keeps its session while the check of the endpoint goes the same way", async () => {
      await using http = await startHttpProxy();
      await using backend = await listenEcho();
      await using proxy = await implementation.startProxy();
      const via = `http://${http.host}:${http.port}`;
      await using target = await implementation.startTarget({ proxy: proxy.rendezvous, via, backend, poolMin: 0 });
      await untilReady(target);
      const before = http.requests.length;
      const checked = performance.now() + 10_000;
      while (http.requests.length < before + 2 && performance.now() < checked) await Bun.sleep(50);
      expect(http.requests.length).toBeGreaterThanOrEqual(before + 2);
      expect(target.log.all("session up").length).toBe(1);
    });

    test("says what the HTTP proxy said, and not who asked", async () => {
      await using http = await startHttpProxy({ authorization });
      await using backend = await listenEcho();
      const wrong = `http://jane:wrong-word@${http.host}:${http.port}`;
      const proxy = { host: name, port: 7835 };
      await using target = await implementation.startTarget({ proxy, via: wrong, backend });
      const line = await target.log.first("the proxy cannot be reached");
      const where = `http://${http.host}:${http.port}`;
      expect(line.fields.reason).toBe(
        `via ${where}: ${name}:7835 cannot be reached (the HTTP proxy answered 407 Proxy Authentication Required; it wants a user and a password: http://user:password@host:port)`,
      );
      expect(target.log.text()).not.toContain("wrong-word");
    });
  },
);

test("the variable is used when that was asked for, and only then", async () => {
  await using http = await startHttpProxy();
  const environment = {
    NETAMINITY_SECRET: goodSecret,
    NETAMINITY_LOG_FORMAT: "json",
    NETAMINITY_HEALTH_LISTEN: "127.0.0.1:0",
    HTTPS_PROXY: `http://${http.host}:${http.port}`,
  };
  const port = unusedPort();
  const command = [executable(), "target", "--proxy-endpoint", `127.0.0.1:${port}`, "--endpoint", "127.0.0.1:1"];
  await using without = startProcess(command, environment);
  const plain = await without.log.first("the proxy cannot be reached");
  expect(plain.fields.reason).toBe(`127.0.0.1:${port} refused the connection: ECONNREFUSED`);
  expect(http.requests).toEqual([]);
  await using asked = startProcess([...command, "--via", "environment"], environment);
  const detour = await asked.log.first("the proxy cannot be reached");
  expect(String(detour.fields.reason)).toContain("502 Bad Gateway");
  expect(http.requests.length).toBeGreaterThan(0);
});

test.each([
  [["--via", "http://jane:hush@"], {}, "via was given an unusable value by --via; accepted: http://HOST:PORT"],
  [
    ["--via", "https://jane:hush@proxy:3128"],
    {},
    "via was given an unusable value by --via; accepted: http://HOST:PORT",
  ],
  [["--via", "environment"], {}, "via is environment, but HTTPS_PROXY is not set; accepted:"],
  [
    ["--via", "environment"],
    { HTTPS_PROXY: "socks5://jane:hush@a" },
    "via is environment, but HTTPS_PROXY cannot be used; accepted:",
  ],
])("%p with %p is refused in one line without the password", async (flags, environment, line) => {
  await using child = startProcess([executable(), "target", "--proxy-endpoint", "a:1", "--endpoint", "b:1", ...flags], {
    NETAMINITY_SECRET: goodSecret,
    ...environment,
  });
  expect(await child.exited(10_000)).toBe(2);
  expect(child.log.text()).toContain(line);
  expect(child.log.text()).not.toContain("hush");
});

test("the doctor goes the same way, and names the variable when a direct way fails", async () => {
  await using http = await startHttpProxy({ names: { [name]: "127.0.0.1" } });
  await using proxy = await inProcess.startProxy();
  const { port } = proxy.rendezvous;
  const url = `http://${http.host}:${http.port}`;
  const proxyEndpoint = { host: name, port };
  const there = await examineByHand({ proxyEndpoint, via: parseVia(url), endpoint: undefined, secret: goodSecret });
  expect(byHandPath(there).map(({ link, outcome, evidence }) => [link, outcome, evidence])).toEqual([
    ["name", "ok", `${name}:${port} is for ${url} to resolve`],
    ["tcp", "ok", `${name}:${port} accepts connections via ${url}`],
    ["protocol", "ok", "a netaminity proxy answers"],
    ["secret", "ok", "the proxy accepts it"],
    ["encryption", "ok", "the session will be plain: whoever carries the packets can read and change them"],
    ["backend", "skipped", "--endpoint was not given"],
  ]);
  const nobody = { host: "127.0.0.1", port: unusedPort() };
  const facts = { proxyEndpoint: nobody, variable: "HTTPS_PROXY", endpoint: undefined, secret: undefined };
  const [, tcp] = byHandPath(await examineByHand(facts));
  expect(tcp?.next).toContain("HTTPS_PROXY is set");
  expect(tcp?.next).toContain("--via environment");
});

test.each([
  ["http://proxy:3128", { host: "proxy", port: 3128, credentials: undefined }],
  ["http://proxy", { host: "proxy", port: 80, credentials: undefined }],
  ["HTTP://[::1]:8080/", { host: "::1", port: 8080, credentials: undefined }],
  ["http://a%40b:c%3Ad@10.0.0.1:1", { host: "10.0.0.1", port: 1, credentials: "a@b:c:d" }],
  ["http://a%0d%0aX:y@proxy:1", undefined],
  ["http://%zz@proxy:1", undefined],
  ["http://proxy:0", undefined],
  ["http://proxy:1/path", undefined],
  ["https://proxy:1", undefined],
  ["proxy:1", undefined],
])("%s is read as %p", (text, via) => {
  expect(parseVia(text)).toEqual(via);
});
