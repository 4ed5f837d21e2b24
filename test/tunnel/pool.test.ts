import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Link } from "../support/relay.ts";
import type { TcpSocket } from "../support/tcp.ts";
import { connectTcp, listenEcho } from "../support/tcp-ends.ts";
import { eventually } from "../support/tcp-wait.ts";
import { type Implementation, metricsOf, tunnelOf, untilMetric } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { openRelayed, type RelayedTunnel, untilPooled } from "../support/tunnel-relayed.ts";

setDefaultTimeout(60_000);

const deadline = 1200;
const greeting = "220 ready\r\n";

/** Every open link but the control connection, which is the first one that a target makes. */
function dataLinks({ relay }: RelayedTunnel): Link[] {
  return relay.links.slice(1).filter((link) => link.open);
}

async function isGreeted(socket: TcpSocket): Promise<void> {
  await socket.untilReceived(greeting.length);
  expect({ text: socket.text(), reset: socket.reset }).toEqual({ text: greeting, reset: undefined });
}

function greet(socket: TcpSocket): void {
  socket.send(greeting).catch(() => {});
}

function deadConnections(implementation: Implementation): void {
  test("idle data connections that were reset are replaced and never given to a consumer in vain", async () => {
    await using tunnel = await openRelayed(implementation, { onOpen: greet }, { deadline, poolMin: 4 });
    for (let turn = 0; turn < 10; turn += 1) {
      await untilPooled(tunnel.proxy, 4);
      for (const link of dataLinks(tunnel)) link.reset();
      const consumers = await Promise.all(Array.from({ length: 6 }, () => tunnel.connect()));
      for (const consumer of consumers) await isGreeted(consumer);
      for (const consumer of consumers) consumer.abort();
    }
    expect((await metricsOf(tunnel.proxy)).sum("netaminity_sessions_opened_total")).toBe(1);
  });

  test("a silent consumer that met a data connection gone silent is moved to another one", async () => {
    await using tunnel = await openRelayed(implementation, { onOpen: greet }, { deadline, poolMin: 2 });
    await untilPooled(tunnel.proxy, 2);
    for (const link of dataLinks(tunnel)) link.freeze();
    const consumers = await Promise.all(Array.from({ length: 4 }, () => tunnel.connect()));
    for (const consumer of consumers) await consumer.untilReceived(greeting.length, 15_000);
    expect(consumers.map((consumer) => consumer.text())).toEqual(consumers.map(() => greeting));
  });

  test("a data connection whose last pong is stale is asked first, so that a consumer with bytes loses nothing", async () => {
    await using tunnel = await openRelayed(implementation, {}, { deadline: 4000, poolMin: 2 });
    await untilPooled(tunnel.proxy, 2);
    const frozen = dataLinks(tunnel);
    for (const link of frozen) link.freeze();
    const before = frozen.map((link) => link.forwarded.up);
    // More than half a deadline without a pong, less than a whole one: still in the pool, no longer fresh.
    await Bun.sleep(2600);
    const consumers = await Promise.all(Array.from({ length: 4 }, () => tunnel.connect()));
    for (const consumer of consumers) consumer.send("precious").catch(() => {});
    const all = () => tunnel.backend.sockets.filter((socket) => socket.text() === "precious").length;
    await eventually(() => all() === 4, "all four messages reach the backend");
    expect(frozen.map((link) => link.forwarded.up)).toEqual(before);
    expect(consumers.map((consumer) => consumer.reset)).toEqual([undefined, undefined, undefined, undefined]);
  });

  test("connections that die silently in the pool are noticed and replaced", async () => {
    await using tunnel = await openRelayed(implementation, { onOpen: greet }, { deadline, poolMin: 3 });
    await untilPooled(tunnel.proxy, 3);
    const frozen = dataLinks(tunnel);
    // Each has been pinged: one that never was in the pool would be replaced at another address of the proxy.
    const joined = frozen.map((link) => link.forwarded.up);
    await eventually(
      () => frozen.every((link, index) => link.forwarded.up > (joined[index] ?? 0)),
      "all are in the pool",
    );
    for (const link of frozen) link.freeze();
    await eventually(
      () => dataLinks(tunnel).filter((link) => !frozen.includes(link)).length >= 3,
      "three new ones are open",
    );
    await untilPooled(tunnel.proxy, 3);
    const consumer = await tunnel.connect();
    await isGreeted(consumer);
    expect((await metricsOf(tunnel.proxy)).sum("netaminity_sessions_opened_total")).toBe(1);
  });
}

function demand(implementation: Implementation): void {
  test("a burst larger than the pool is served to the last consumer", async () => {
    await using backend = await listenEcho();
    await using tunnel = await tunnelOf(implementation).open({ backend, poolMin: 2, poolMax: 8 });
    if (tunnel.proxy === undefined) throw new Error("the proxy is ours");
    await untilPooled(tunnel.proxy, 2);
    await using stack = new AsyncDisposableStack();
    const consumers = await Promise.all(Array.from({ length: 200 }, () => connectTcp(tunnel.consumers.port)));
    for (const consumer of consumers) stack.use(consumer);
    for (const [index, consumer] of consumers.entries()) await consumer.send(`number ${index}`);
    for (const [index, consumer] of consumers.entries()) await consumer.untilReceived(`number ${index}`.length);
    expect(consumers.map((consumer) => consumer.text())).toEqual(consumers.map((_, index) => `number ${index}`));
    const metrics = await metricsOf(tunnel.proxy);
    expect(metrics.sum("netaminity_pool_misses_total")).toBeGreaterThan(0);
    expect(metrics.sum("netaminity_pool_hits_total") + metrics.sum("netaminity_pool_misses_total")).toBe(200);
  });

  test("the pool keeps at least its minimum and does not grow with the bursts", async () => {
    await using backend = await listenEcho();
    await using tunnel = await tunnelOf(implementation).open({ backend, poolMin: 3, poolMax: 6 });
    const { proxy } = tunnel;
    if (proxy === undefined) throw new Error("the proxy is ours");
    await untilPooled(proxy, 3);
    for (let turn = 0; turn < 5; turn += 1) {
      const consumers = await Promise.all(Array.from({ length: 40 }, () => connectTcp(tunnel.consumers.port)));
      await Promise.all(consumers.map((consumer) => consumer.send("x")));
      await Promise.all(consumers.map((consumer) => consumer.untilReceived(1)));
      for (const consumer of consumers) consumer.finish();
      await Promise.all(consumers.map((consumer) => consumer.untilClosed()));
      // Each consumer's connection comes back, and what was opened for those that had to wait.
      expect((await metricsOf(proxy)).sum("netaminity_pool_idle")).toBeLessThan(60);
    }
    await untilMetric(proxy, "netaminity_pool_idle", {}, (idle) => idle >= 3 && idle <= 6, 45_000);
  });
}

for (const implementation of [inProcess, compiled]) {
  describe(implementation.name, () => {
    deadConnections(implementation);
    demand(implementation);
  });
}
