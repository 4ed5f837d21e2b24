import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { TcpSocket } from "../support/tcp.ts";
import { openBlackhole } from "../support/tcp-blackhole.ts";
import { connectTcp, listenTcp, unusedPort } from "../support/tcp-ends.ts";
import { ask, type Implementation, tunnelOf, untilMetric, untilReady, untilUnready } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { isTurnedAway } from "../support/tunnel-rig.ts";

setDefaultTimeout(60_000);

const once = (count: number) => count === 1;

async function isReset(consumer: TcpSocket, deadline?: number): Promise<void> {
  await consumer.untilClosed(deadline);
  expect({ received: consumer.received, fin: consumer.fin, reset: consumer.reset }).toEqual({
    received: 0,
    fin: false,
    reset: "ECONNRESET",
  });
}

function absentBackends(implementation: Implementation): void {
  const kind = tunnelOf(implementation);

  test("a backend that refuses resets the consumer, is counted and logged with the reason", async () => {
    await using tunnel = await kind.open({ backend: { host: "127.0.0.1", port: unusedPort() } });
    if (tunnel.proxy === undefined || tunnel.target === undefined) throw new Error("both roles are ours");
    await using consumer = await connectTcp(tunnel.consumers.port);
    await isReset(consumer, 3000);
    await untilMetric(tunnel.proxy, "netaminity_streams_total", { result: "refused" }, once);
    await untilMetric(tunnel.target, "netaminity_streams_total", { result: "refused" }, once);
    await untilMetric(tunnel.target, "netaminity_backend_dials_total", { result: "refused" }, once);
    expect(tunnel.proxy.log.text()).toContain("refused");
    expect(tunnel.target.log.text()).toContain("refused");
  });

  test("a backend that refuses resets a consumer that has already sent bytes", async () => {
    await using tunnel = await kind.open({ backend: { host: "127.0.0.1", port: unusedPort() } });
    await using consumer = await connectTcp(tunnel.consumers.port);
    consumer.send("GET / HTTP/1.0\r\n\r\n").catch(() => {});
    await isReset(consumer, 3000);
  });

  test("a backend whose name does not resolve resets the consumer, is counted and logged with the name", async () => {
    // RFC 6761: `.invalid` never resolves.
    await using tunnel = await kind.open({ backend: { host: "backend.invalid", port: 80 } });
    if (tunnel.proxy === undefined || tunnel.target === undefined) throw new Error("both roles are ours");
    await using consumer = await connectTcp(tunnel.consumers.port);
    await isReset(consumer, 15_000);
    await untilMetric(tunnel.proxy, "netaminity_streams_total", { result: "unresolved" }, once);
    await untilMetric(tunnel.target, "netaminity_backend_dials_total", { result: "unresolved" }, once);
    expect(tunnel.target.log.text()).toContain("backend.invalid");
  });

  test("a backend that never answers resets the consumer after a while, is counted and logged", async () => {
    await using hole = await openBlackhole();
    await using tunnel = await kind.open({ backend: hole });
    if (tunnel.proxy === undefined || tunnel.target === undefined) throw new Error("both roles are ours");
    await using consumer = await connectTcp(tunnel.consumers.port);
    await isReset(consumer, 15_000);
    await untilMetric(tunnel.proxy, "netaminity_streams_total", { result: "timeout" }, once);
    await untilMetric(tunnel.target, "netaminity_backend_dials_total", { result: "timeout" }, once);
  });

  test("consumers are served again as soon as the backend is there", async () => {
    const port = unusedPort();
    await using tunnel = await kind.open({ backend: { host: "127.0.0.1", port } });
    await using early = await connectTcp(tunnel.consumers.port);
    await isReset(early, 3000);
    await using backend = await listenTcp({ port, onOpen: (socket) => void socket.send("hello") });
    await using late = await connectTcp(tunnel.consumers.port);
    await late.untilReceived(5);
    expect({ text: late.text(), backends: backend.sockets.length }).toEqual({ text: "hello", backends: 1 });
  });

  test("a backend that is known by a name is found at whichever address it listens", async () => {
    // `localhost` is ::1 and 127.0.0.1; only one of them answers.
    await using backend = await listenTcp({ host: "127.0.0.1", onOpen: (socket) => void socket.send("four") });
    await using tunnel = await kind.open({ backend: { host: "localhost", port: backend.port } });
    await using consumer = await connectTcp(tunnel.consumers.port);
    await consumer.untilReceived(4);
    expect(consumer.text()).toBe("four");
  });
}

function absentSessions(implementation: Implementation): void {
  test("a consumer is turned away at once while no target has attached, and the proxy says why it is not ready", async () => {
    await using proxy = await implementation.startProxy();
    await isTurnedAway(proxy.consumers);
    const ready = await ask(proxy, "/readyz");
    expect(ready.status).toBe(503);
    expect(ready.body).not.toBe("");
  });

  test("the proxy is not ready and turns consumers away after its only target has left", async () => {
    await using backend = await listenTcp();
    await using proxy = await implementation.startProxy();
    {
      await using target = await implementation.startTarget({ proxy: proxy.rendezvous, backend });
      await untilReady(target);
      await untilReady(proxy);
    }
    await untilUnready(proxy);
    await isTurnedAway(proxy.consumers);
  });

  test("a target that starts before its proxy attaches as soon as the proxy is there", async () => {
    await using backend = await listenTcp({ onOpen: (socket) => void socket.send("hi") });
    const rendezvousPort = unusedPort();
    await using target = await implementation.startTarget({
      proxy: { host: "127.0.0.1", port: rendezvousPort },
      backend,
    });
    expect((await ask(target, "/readyz")).status).toBe(503);
    await untilMetric(target, "netaminity_reconnects_total", {}, (count) => count > 0);
    await using proxy = await implementation.startProxy({ rendezvousPort });
    await untilReady(proxy, 20_000);
    await using consumer = await connectTcp(proxy.consumers.port);
    await consumer.untilReceived(2);
    expect(consumer.text()).toBe("hi");
  });
}

for (const implementation of [inProcess, compiled]) {
  describe(implementation.name, () => {
    absentBackends(implementation);
    absentSessions(implementation);
  });
}
