import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { startRelay } from "../support/relay.ts";
import type { TcpSocket } from "../support/tcp.ts";
import { connectTcp, listenTcp, type TcpServer } from "../support/tcp-ends.ts";
import { eventually } from "../support/tcp-wait.ts";
import { ask, type Implementation, metricsOf, untilMetric, untilReady } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { untilPooled } from "../support/tunnel-relayed.ts";

setDefaultTimeout(60_000);

function listenNamed(name: string): Promise<TcpServer> {
  return listenTcp({
    onOpen: (socket) => void socket.send(name).catch(() => {}),
    onFin: (socket) => socket.finish(),
  });
}

async function nameServed(port: number): Promise<{ socket: TcpSocket; name: string }> {
  const socket = await connectTcp(port);
  await socket.untilReceived(1);
  return { socket, name: socket.text() };
}

function severalTargets(implementation: Implementation): void {
  test("new consumers go to the session with the fewest streams", async () => {
    await using stack = new AsyncDisposableStack();
    const proxy = stack.use(await implementation.startProxy());
    for (const name of ["a", "b", "c"]) {
      const backend = stack.use(await listenNamed(name));
      stack.use(await implementation.startTarget({ proxy: proxy.rendezvous, backend }));
    }
    await untilMetric(proxy, "netaminity_sessions", {}, (count) => count === 3);
    const served = [];
    for (let count = 0; count < 9; count += 1) served.push(await nameServed(proxy.consumers.port));
    expect(served.map(({ name }) => name).sort()).toEqual(["a", "a", "a", "b", "b", "b", "c", "c", "c"]);
    for (const { socket } of served.filter(({ name }) => name === "b")) {
      socket.finish();
      await socket.untilClosed();
    }
    await untilMetric(proxy, "netaminity_streams_open", {}, (open) => open === 6);
    const next = [];
    for (let count = 0; count < 3; count += 1) next.push((await nameServed(proxy.consumers.port)).name);
    expect(next).toEqual(["b", "b", "b"]);
  });

  test("a drained target gets no new consumers, its running streams end by themselves, and no consumer fails", async () => {
    await using a = await listenNamed("a");
    await using b = await listenNamed("b");
    await using proxy = await implementation.startProxy();
    await using first = await implementation.startTarget({ proxy: proxy.rendezvous, backend: a });
    await untilReady(proxy);
    const running = await nameServed(proxy.consumers.port);
    await using second = await implementation.startTarget({ proxy: proxy.rendezvous, backend: b });
    await untilReady(second);
    const draining = first.drain();
    const names = [];
    for (let count = 0; count < 30; count += 1) names.push((await nameServed(proxy.consumers.port)).name);
    // Those that came before the proxy had read the Drain may still have got the old one; nobody got nothing.
    expect(names.slice(-10)).toEqual(Array.from({ length: 10 }, () => "b"));
    for (const socket of a.sockets.slice(1)) socket.finish();
    await running.socket.send("still here");
    await a.sockets[0]?.untilReceived(10);
    running.socket.finish();
    await running.socket.untilClosed();
    expect({ text: running.socket.text(), reset: running.socket.reset }).toEqual({ text: "a", reset: undefined });
    for (const socket of a.sockets) socket.abort();
    await draining;
    expect((await ask(proxy, "/readyz")).status).toBe(200);
  });
}

interface Service {
  /** Consumers served so far. */
  served(): number;
  /** How those ended that were not served. */
  stop(): Promise<string[]>;
}

/** Connects a consumer every now and then until stopped. */
function serveConstantly(port: () => number): Service {
  const failed: string[] = [];
  let running = true;
  let served = 0;
  const visit = async () => {
    await using consumer = await connectTcp(port());
    await consumer.until((one) => one.received > 0 || one.closed, "a consumer is served");
    if (consumer.received > 0) served += 1;
    else failed.push(`ended with ${consumer.reset}`);
  };
  const loop = async () => {
    while (running) {
      await visit().catch((error: unknown) => failed.push(String(error)));
      await Bun.sleep(20);
    }
  };
  const looping = loop();
  return {
    served: () => served,
    stop: async () => {
      running = false;
      await looping;
      return failed;
    },
  };
}

function movedProxies(implementation: Implementation): void {
  test("a target notices that the endpoint leads to another proxy, serves there, and loses no stream of the old one", async () => {
    await using backend = await listenNamed("hi");
    await using older = await implementation.startProxy();
    await using relay = await startRelay(older.rendezvous);
    // The old proxy's pool cannot be refilled once the address leads elsewhere: it has to last for the consumers that still come there.
    await using target = await implementation.startTarget({ proxy: relay, backend, poolMin: 32 });
    await untilReady(older);
    await untilPooled(older, 32);
    const running = await nameServed(older.consumers.port);
    await using newer = await implementation.startProxy();
    let led = older;
    const consumers = serveConstantly(() => led.consumers.port);
    await eventually(() => consumers.served() > 3, "consumers are served");
    relay.leadTo(newer.rendezvous);
    await untilReady(newer, 20_000);
    // Whoever leads consumers to ready proxies learns of a new one late: they come to the old one for a while.
    const atReady = consumers.served();
    await eventually(() => consumers.served() > atReady + 10, "the old proxy still serves");
    led = newer;
    const atSwitch = consumers.served();
    await eventually(() => consumers.served() > atSwitch + 10, "the new proxy serves");
    expect(await consumers.stop()).toEqual([]);
    expect((await ask(target, "/readyz")).status).toBe(200);
    await running.socket.send("still here");
    await backend.sockets[0]?.untilReceived(10);
    expect((await metricsOf(older)).sum("netaminity_sessions_lost_total")).toBe(0);
    running.socket.finish();
    await running.socket.untilClosed();
    expect(running.socket.reset).toBeUndefined();
  });

  test("a target that hears nothing of its proxy goes on looking beside a look that hangs, and finds the next proxy", async () => {
    await using backend = await listenNamed("hi");
    await using older = await implementation.startProxy();
    await using relay = await startRelay(older.rendezvous);
    await using target = await implementation.startTarget({ proxy: relay, backend });
    await untilReady(older);
    await untilReady(target);
    await using newer = await implementation.startProxy();
    // As a Service whose pod is on a lost node: who has connected there goes on to be led there, and gets no answer.
    await using nowhere = await listenTcp();
    relay.leadTo(nowhere);
    for (const link of relay.links) link.freeze();
    await eventually(
      () => nowhere.sockets.filter(({ closed }) => !closed).length >= 4,
      "several looks at once",
      20_000,
    );
    relay.leadTo(newer.rendezvous);
    await untilReady(newer);
    expect((await nameServed(newer.consumers.port)).name).toBe("hi");
  });

  test("both proxies serve for a while after a target has moved from one to the other", async () => {
    await using backend = await listenNamed("hi");
    await using older = await implementation.startProxy();
    await using relay = await startRelay(older.rendezvous);
    await using target = await implementation.startTarget({ proxy: relay, backend });
    await untilReady(older);
    await using newer = await implementation.startProxy();
    relay.leadTo(newer.rendezvous);
    await untilReady(newer, 20_000);
    await untilMetric(target, "netaminity_sessions", {}, (count) => count === 2);
    for (const proxy of [older, newer]) {
      // More than there are idle data connections: for the others the old proxy is reached past the endpoint.
      const served = await Promise.all(Array.from({ length: 20 }, () => nameServed(proxy.consumers.port)));
      expect(served.map(({ name }) => name)).toEqual(Array(20).fill("hi"));
      for (const { socket } of served) {
        socket.finish();
        await socket.untilClosed();
      }
    }
    // The old proxy says when that time is over.
    await older.drain();
    await untilMetric(target, "netaminity_sessions", {}, (count) => count === 1);
    expect((await ask(target, "/readyz")).status).toBe(200);
  });

  test("a proxy that is replaced behind a stable address hands its target over without losing a consumer", async () => {
    await using backend = await listenNamed("hi");
    await using older = await implementation.startProxy();
    await using relay = await startRelay(older.rendezvous);
    await using target = await implementation.startTarget({ proxy: relay, backend });
    await untilReady(older);
    const running = await nameServed(older.consumers.port);
    await using newer = await implementation.startProxy();
    relay.leadTo(newer.rendezvous);
    const draining = older.drain();
    await untilReady(newer, 20_000);
    await untilReady(target);
    const { socket, name } = await nameServed(newer.consumers.port);
    expect(name).toBe("hi");
    socket.finish();
    await running.socket.send("still here");
    await backend.sockets[0]?.untilReceived(10);
    running.socket.finish();
    await running.socket.untilClosed();
    expect(running.socket.reset).toBeUndefined();
    await draining;
  });

  test("a proxy that drains tells its target, which comes back to it when there is no other", async () => {
    await using backend = await listenNamed("hi");
    await using older = await implementation.startProxy();
    const rendezvousPort = older.rendezvous.port;
    await using target = await implementation.startTarget({ proxy: older.rendezvous, backend });
    await untilReady(target);
    await older.drain();
    await using newer = await implementation.startProxy({ rendezvousPort });
    await untilReady(newer, 20_000);
    expect((await nameServed(newer.consumers.port)).name).toBe("hi");
  });
}

for (const implementation of [inProcess, compiled]) {
  describe(implementation.name, () => {
    severalTargets(implementation);
    movedProxies(implementation);
  });
}
