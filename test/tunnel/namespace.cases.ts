import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { connectFirst } from "../../src/agent/net/dial.ts";
import { examineByHand } from "../../src/doctor/examine-by-hand.ts";
import { startNameServer } from "../support/name-server.ts";
import { connectTcp, listenEcho } from "../support/tcp-ends.ts";
import { eventually } from "../support/tcp-wait.ts";
import { untilReady } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";

setDefaultTimeout(60_000);

// Run by namespace.test.ts, in a network of its own.

const silent = "127.0.0.9";
const good = "127.0.0.8";

test.each([
  [
    "10.2.0.1",
    "unreachable",
    "10.2.0.1:80 cannot be reached (a route or a firewall of this machine prohibits it: EACCES)",
  ],
  [
    "10.3.0.1",
    "unreachable",
    "10.3.0.1:80 cannot be reached (no route to that host, or a router on the way says so: EHOSTUNREACH)",
  ],
  ["10.4.0.1", "unreachable", "10.4.0.1:80 cannot be reached (a route of this machine discards it: EINVAL)"],
  ["10.5.0.1", "unreachable", "10.5.0.1:80 cannot be reached (no route to that network: ENETUNREACH)"],
  ["2001:db8::1", "unreachable", "[2001:db8::1]:80 cannot be reached (no route to that network: ENETUNREACH)"],
  ["127.0.0.1", "refused", "127.0.0.1:80 refused the connection"],
])("a dial to %s tells why it failed", async (host, result, message) => {
  await expect(connectFirst([host], 80, 5000)).rejects.toMatchObject({ result, message });
  const facts = await examineByHand({ proxyEndpoint: undefined, endpoint: { host, port: 80 }, secret: undefined });
  expect(facts.backend?.tcp).toMatchObject({ failed: expect.stringContaining(message) });
});

test("[::1] without IPv6 is no refusal", async () => {
  writeFileSync("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
  const message = expect.stringContaining("EADDRNOTAVAIL");
  await expect(connectFirst(["::1"], 80, 5000)).rejects.toMatchObject({ result: "unreachable", message });
});

test("a dial that meets itself is a refusal, and leaves the port free", async () => {
  const range = "/proc/sys/net/ipv4/ip_local_port_range";
  const before = readFileSync(range, "utf8");
  // With one port to choose from every connection to that port meets itself.
  writeFileSync(range, "40000 40000");
  try {
    await using meets = await connectTcp(40_000);
    await meets.send("echo");
    await meets.untilReceived(4);
  } finally {
    writeFileSync(range, before);
  }
  writeFileSync(range, "40002 40002");
  try {
    const refusal = { result: "refused", message: "127.0.0.1:40002 refused the connection" };
    for (let turn = 0; turn < 20; turn += 1)
      await expect(connectFirst(["127.0.0.1"], 40_002, 5000)).rejects.toMatchObject(refusal);
    await connectFirst(["127.0.0.1"], 40_002, 5000).catch(() => {});
    await using echo = await listenEcho({ port: 40_002 });
    expect(echo.port).toBe(40_002);
  } finally {
    writeFileSync(range, before);
  }
});

test("a session and consumers in spite of a first name server that is silent", async () => {
  await using first = await startNameServer(silent, undefined);
  await using second = await startNameServer(good, { "proxy.test": "127.0.0.1", "backend.test": "127.0.0.1" });
  await using backend = await listenEcho();
  await using proxy = await compiled.startProxy();
  await using target = await compiled.startTarget({
    proxy: { host: "proxy.test", port: proxy.rendezvous.port },
    backend: { host: "backend.test", port: backend.port },
  });
  await untilReady(target, 12_000);
  expect([first.asked > 0, second.asked > 0]).toEqual([true, true]);
  await untilReady(proxy);
  // For longer than the addresses of one look-up are taken for fresh.
  const until = performance.now() + 8000;
  while (performance.now() < until) {
    await using consumer = await connectTcp(proxy.consumers.port);
    await consumer.send("hello");
    await consumer.untilReceived(5);
  }
  expect(target.log.all("session lost")).toEqual([]);
});

test("a changed secret is noticed while every look-up hangs", async () => {
  await using _first = await startNameServer(silent, undefined);
  await using second = await startNameServer(good, undefined);
  await using target = await compiled.startTarget({
    proxy: { host: "proxy.test", port: 7835 },
    backend: { host: "backend.test", port: 80 },
  });
  await eventually(() => second.asked > 0, "both servers were asked", 10_000);
  await target.setSecrets(["another secret"]);
  await target.log.first("secret changed", {}, 2000);
});
