import { expect, setDefaultTimeout, test } from "bun:test";
import type { TcpSocket } from "../support/tcp.ts";
import { connectTcp, listenEcho } from "../support/tcp-ends.ts";
import { type RunningProxy, tunnelOf, untilMetric, untilReady } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";

setDefaultTimeout(60_000);

const kind = tunnelOf(compiled);
const mebibyte = 1024 * 1024;

type Visitor = (socket: TcpSocket) => void;

const quietly = (sending: Promise<void>) => {
  sending.catch(() => {});
};

/** Sends a frame so slowly that only a deadline for the whole handshake ends it. */
function dribble(socket: TcpSocket): void {
  let sent = 0;
  const timer = setInterval(() => {
    if (socket.closed || sent >= 200) clearInterval(timer);
    else quietly(socket.send("x"));
    sent += 1;
  }, 100);
}

const visitors: Record<string, Visitor> = {
  silent: () => {},
  slow: dribble,
  oversized: (socket) => quietly(socket.send("x".repeat(4096))),
  malformed: (socket) => quietly(socket.send('{"Authenticate":\0')),
  impostor: (socket) => quietly(socket.send(`{"Authenticate":"${"0".repeat(64)}"}\0`)),
  binary: (socket) => quietly(socket.send(new Uint8Array([0, 0, 0, 255, 254, 0]))),
  greedy: (socket) => quietly(socket.send(`{"Accept":"01234567-89ab-4def-8123-456789abcdef"}\0`)),
  leaving: (socket) => socket.finish(),
};

async function flood(proxy: RunningProxy, visitor: Visitor, count: number): Promise<TcpSocket[]> {
  const sockets = await Promise.all(
    Array.from({ length: count }, () => connectTcp(proxy.rendezvous.port, { keep: false }).catch(() => undefined)),
  );
  const open = sockets.filter((socket) => socket !== undefined);
  for (const socket of open) visitor(socket);
  return open;
}

test("1,600 unauthenticated peers of every bad kind at once neither disturb consumers nor grow memory, and are all closed", async () => {
  await using backend = await listenEcho();
  await using tunnel = await kind.open({ backend });
  const { proxy, target } = tunnel;
  if (proxy?.process === undefined || target === undefined) throw new Error("both roles are ours");
  await using stack = new AsyncDisposableStack();
  const visits: TcpSocket[] = [];
  let most = 0;
  for (const visitor of Object.values(visitors)) {
    visits.push(...(await flood(proxy, visitor, 200)).map((socket) => stack.use(socket)));
    most = Math.max(most, proxy.process.memory());
    for (let turn = 0; turn < 20; turn += 1) {
      await using consumer = await connectTcp(tunnel.consumers.port);
      await consumer.send(`hello ${turn}`);
      await consumer.untilReceived(`hello ${turn}`.length);
      expect(consumer.text()).toBe(`hello ${turn}`);
    }
  }
  expect(visits.length).toBe(1600);
  // The handshake deadline is 3 s.
  for (const visit of visits)
    await visit.until((one) => one.closed || one.fin, "an unauthenticated peer is closed", 15_000);
  expect(most / mebibyte).toBeLessThan(64);
  await untilMetric(proxy, "netaminity_handshakes_dropped_total", {}, (count) => count > 0);
  await untilReady(target);
  await untilReady(proxy);
  // Hostile input must not fill the disk with log lines either.
  expect(proxy.log.lines.length).toBeLessThan(200);
}, 60_000);

test("a target attaches while 1,200 silent peers are connected", async () => {
  await using backend = await listenEcho();
  await using proxy = await compiled.startProxy();
  await using stack = new AsyncDisposableStack();
  for (const socket of await flood(proxy, visitors.silent ?? (() => {}), 1200)) stack.use(socket);
  await using target = await compiled.startTarget({ proxy: proxy.rendezvous, backend });
  await untilReady(target, 15_000);
  await using consumer = await connectTcp(proxy.consumers.port);
  await consumer.send("hello");
  await consumer.untilReceived(5);
}, 60_000);

test("thousands of consumers that come while the only target has stopped are all turned away and grow no memory", async () => {
  await using backend = await listenEcho();
  await using proxy = await compiled.startProxy({ deadline: 1000 });
  await using target = await compiled.startTarget({ proxy: proxy.rendezvous, backend, deadline: 1000 });
  await untilReady(proxy);
  target.process?.signal("SIGSTOP");
  await using stack = new AsyncDisposableStack();
  const consumers: TcpSocket[] = [];
  for (let turn = 0; turn < 10; turn += 1) {
    const more = await Promise.all(
      Array.from({ length: 300 }, () => connectTcp(proxy.consumers.port).catch(() => undefined)),
    );
    consumers.push(...more.filter((socket) => socket !== undefined).map((socket) => stack.use(socket)));
  }
  for (const consumer of consumers) await consumer.untilClosed(15_000);
  expect(consumers.filter((consumer) => consumer.reset === undefined)).toEqual([]);
  expect((proxy.process?.memory() ?? 0) / mebibyte).toBeLessThan(64);
  target.process?.signal("SIGCONT");
  await untilReady(target, 20_000);
  await untilReady(proxy);
}, 60_000);
