import { expect, setDefaultTimeout, test } from "bun:test";
import { connectTcp, listenEcho, listenTcp } from "../support/tcp-ends.ts";
import { metricsOf, tunnelOf, untilMetric } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";

setDefaultTimeout(60_000);

const kind = tunnelOf(compiled);

test("10,000 connections one after the other all get their answer", async () => {
  await using backend = await listenTcp({
    keep: false,
    onData: (chunk, socket) => void socket.send(chunk).catch(() => {}),
    onFin: (socket) => socket.finish(),
  });
  await using tunnel = await kind.open({ backend });
  for (let turn = 0; turn < 10_000; turn += 1) {
    const consumer = await connectTcp(tunnel.consumers.port);
    const message = `m${turn}`;
    await consumer.send(message);
    consumer.finish();
    await consumer.untilClosed();
    if (consumer.text() !== message || consumer.reset !== undefined) {
      throw new Error(`connection ${turn}: got ${JSON.stringify(consumer.text())}, reset ${consumer.reset}`);
    }
  }
  if (tunnel.proxy === undefined) throw new Error("the proxy is ours");
  expect((await metricsOf(tunnel.proxy)).sum("netaminity_streams_total", { result: "completed" })).toBe(10_000);
}, 120_000);

test("2,000 idle connections at once stay open and all still work", async () => {
  await using backend = await listenEcho();
  await using tunnel = await kind.open({ backend });
  await using stack = new AsyncDisposableStack();
  const consumers = [];
  for (let count = 0; count < 2000; count += 100) {
    const more = await Promise.all(Array.from({ length: 100 }, () => connectTcp(tunnel.consumers.port)));
    consumers.push(...more.map((consumer) => stack.use(consumer)));
    // Each of the hundred is served before the next hundred comes.
    await Promise.all(more.map((consumer) => consumer.send("a")));
    await Promise.all(more.map((consumer) => consumer.untilReceived(1, 20_000)));
  }
  if (tunnel.proxy === undefined) throw new Error("the proxy is ours");
  await untilMetric(tunnel.proxy, "netaminity_streams_open", {}, (open) => open === 2000);
  await Promise.all(consumers.map((consumer) => consumer.send("b")));
  await Promise.all(consumers.map((consumer) => consumer.untilReceived(2, 20_000)));
  expect(consumers.filter((consumer) => consumer.closed || consumer.text() !== "ab")).toEqual([]);
}, 60_000);
