import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { startHttpProxy } from "../support/http-proxy.ts";
import { startRelay } from "../support/relay.ts";
import { connectTcp, listenEcho, listenTcp, type TcpServer } from "../support/tcp-ends.ts";
import { eventually } from "../support/tcp-wait.ts";
import {
  ask,
  goodSecret,
  type Implementation,
  metricsOf,
  type ProxyOptions,
  untilMetric,
  untilReady,
  untilUnready,
} from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { connectPeer } from "../support/tunnel-peer.ts";

setDefaultTimeout(60_000);

/**
 * A target that has moved from one proxy to another, and the older proxy without idle connections but with consumers still to come. The target cannot reach
 * that one itself: the only way out leads to the address that both had.
 */
async function openMoved(
  implementation: Implementation,
  backend: TcpServer,
  encryption: "off" | "required",
  ofOlder: ProxyOptions = {},
) {
  await using stack = new AsyncDisposableStack();
  const older = stack.use(await implementation.startProxy(ofOlder));
  const relay = stack.use(await startRelay(older.rendezvous));
  const way = stack.use(await startHttpProxy({ onlyPort: relay.port }));
  const via = `http://127.0.0.1:${way.port}`;
  const target = stack.use(
    await implementation.startTarget({ proxy: relay, backend, sendProxyProtocol: "v1", encryption, via }),
  );
  await untilReady(older);
  const newer = stack.use(await implementation.startProxy());
  relay.leadTo(newer.rendezvous);
  await untilMetric(target, "netaminity_sessions", {}, (count) => count === 2, 20_000);
  const owned = stack.move();
  return { older, newer, target, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function handOver(implementation: Implementation): void {
  test.each<["off" | "required", string, ProxyOptions]>([
    ["off", "the same secret", {}],
    ["required", "the same secret", {}],
    // The other one will read it a moment later.
    ["off", "a new secret beside the old one", { secrets: ["the next secret", goodSecret] }],
  ])(
    "consumers of a former proxy are served through the next one, and the backend hears their own addresses, encryption %s, %s",
    async (encryption, _, ofOlder) => {
      await using backend = await listenTcp();
      await using moved = await openMoved(implementation, backend, encryption, ofOlder);
      const consumers = await Promise.all(Array.from({ length: 30 }, () => connectTcp(moved.older.consumers.port)));
      for (const consumer of consumers) {
        await consumer.send("hello");
        consumer.finish();
      }
      await untilMetric(moved.target, "netaminity_streams_open", {}, (count) => count === 30);
      await Promise.all(backend.sockets.map((socket) => socket.untilFin()));
      const { port } = moved.older.consumers;
      const told = backend.sockets.map((socket) => socket.text());
      const expected = consumers.map(({ localPort }) => `PROXY TCP4 127.0.0.1 127.0.0.1 ${localPort} ${port}\r\nhello`);
      expect(told.toSorted()).toEqual(expected.toSorted());
      const throughNewer = (await metricsOf(moved.newer)).sum("netaminity_streams_open");
      expect(throughNewer).toBeGreaterThan(0);
      // The answer, the end of the other direction and the end of all come back the same way.
      for (const socket of backend.sockets) {
        await socket.send("bye");
        socket.finish();
      }
      for (const consumer of consumers) {
        await consumer.untilClosed();
        expect({ text: consumer.text(), reset: consumer.reset }).toEqual({ text: "bye", reset: undefined });
      }
    },
  );

  test("a proxy that its target has left is not ready any more, and until nobody is sent there it still serves", async () => {
    await using backend = await listenEcho();
    await using moved = await openMoved(implementation, backend, "off");
    await untilReady(moved.newer);
    // Well before the target takes nothing more from here, which is the other way to become unready.
    await untilUnready(moved.older, 20_000);
    expect(await ask(moved.older, "/readyz")).toEqual({ status: 503, body: "the target has moved to another proxy" });
    const consumer = await connectTcp(moved.older.consumers.port);
    await consumer.send("hello");
    await consumer.untilReceived(5);
    consumer.finish();
    await consumer.untilClosed();
    expect([consumer.text().split("\r\n").at(-1), consumer.reset]).toEqual(["hello", undefined]);
  });

  test("a stranger cannot hand a consumer over", async () => {
    await using backend = await listenEcho();
    await using proxy = await implementation.startProxy();
    await using _target = await implementation.startTarget({ proxy: proxy.rendezvous, backend });
    await untilReady(proxy);
    const [nonce, proof] = ["00".repeat(16), "00".repeat(32)];
    await using stranger = await connectPeer(proxy.rendezvous);
    await stranger.heard(0);
    await stranger.say({ Serve: { from: "192.0.2.1:1", to: "192.0.2.2:2", nonce, proof } });
    expect(await stranger.heard(1)).toEqual({ Error: "invalid secret" });
    const metrics = await metricsOf(proxy);
    expect([metrics.sum("netaminity_auth_failures_total"), metrics.sum("netaminity_streams_open")]).toEqual([1, 0]);
  });
}

function misled(implementation: Implementation): void {
  test.each(["another secret", "nobody listens", "packets vanish"])(
    "an endpoint that leads where no session comes about, %s: the proxy that has the session goes on serving, bursts too, and the target says what is wrong",
    async (what) => {
      await using backend = await listenEcho();
      await using stack = new AsyncDisposableStack();
      const older = stack.use(await implementation.startProxy());
      const relay = stack.use(await startRelay(older.rendezvous));
      const target = stack.use(await implementation.startTarget({ proxy: relay, backend, poolMin: 1, poolMax: 4 }));
      await untilReady(older);
      if (what === "another secret") {
        relay.leadTo(stack.use(await implementation.startProxy({ secrets: ["another"] })).rendezvous);
      } else if (what === "nobody listens") {
        const gone = await implementation.startProxy();
        await gone[Symbol.asyncDispose]();
        relay.leadTo(gone.rendezvous);
      } else {
        const hole = stack.use(await startRelay(older.rendezvous));
        hole.freeze();
        relay.leadTo(hole);
      }
      await eventually(
        () => target.log.text().includes("at the endpoint now; the session that is up goes on"),
        "the target says it",
        20_000,
      );
      for (let burst = 0; burst < 3; burst += 1) {
        const consumers = await Promise.all(Array.from({ length: 20 }, () => connectTcp(older.consumers.port)));
        for (const consumer of consumers) await consumer.send("hello");
        for (const consumer of consumers) await consumer.untilReceived(5);
        for (const consumer of consumers) consumer.finish();
        for (const consumer of consumers) {
          await consumer.untilClosed();
          expect({ text: consumer.text(), reset: consumer.reset }).toEqual({ text: "hello", reset: undefined });
        }
      }
      expect((await metricsOf(older)).sum("netaminity_sessions_opened_total")).toBe(1);
    },
  );
}

for (const implementation of [inProcess, compiled]) {
  describe(implementation.name, () => {
    handOver(implementation);
    misled(implementation);
  });
}
