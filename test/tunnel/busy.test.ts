import { expect, setDefaultTimeout, test } from "bun:test";
import { startCgroup } from "../support/process-cgroup.ts";
import type { TcpSocket } from "../support/tcp.ts";
import { connectTcp, listenTcp } from "../support/tcp-ends.ts";
import { eventually } from "../support/tcp-wait.ts";
import { direct, type RunningRole, type TunnelKind, tunnelOf, untilReady } from "../support/tunnel.ts";
import { compiled, compiledWith } from "../support/tunnel-compiled.ts";
import { openBusy, readSlowly } from "./busy.ts";
import { pattern } from "./cases.ts";

setDefaultTimeout(180_000);

const mebibyte = 1024 * 1024;

function memoryOf(role: RunningRole | undefined): number {
  if (role?.process === undefined) throw new Error("the role is no process of its own");
  return role.process.memory() / mebibyte;
}

async function sendInPieces(socket: TcpSocket, total: number, piece: Uint8Array): Promise<void> {
  for (let sent = 0; sent < total; sent += piece.byteLength) await socket.send(piece);
  socket.finish();
}

/** Milliseconds in which 70 writers have sent 8 MiB each, in pieces of 1 MiB, and all of it has been read in small doses. */
async function transferOf70(kind: TunnelKind, direction: "up" | "down", deadline: number): Promise<number> {
  const total = 8 * mebibyte;
  const piece = pattern(mebibyte, 1);
  await using stack = new AsyncDisposableStack();
  const backend = stack.use(await listenTcp({ keep: false }));
  const tunnel = stack.use(await kind.open({ backend }));
  const consumers: TcpSocket[] = [];
  for (let count = 0; count < 70; count += 1) {
    consumers.push(stack.use(await connectTcp(tunnel.consumers.port, { keep: false })));
    await backend.accept();
  }
  const [writers, readers] = direction === "up" ? [consumers, backend.sockets] : [backend.sockets, consumers];
  const since = performance.now();
  let over = false;
  const reading = readSlowly(readers, { rest: 20, read: 10, over: () => over });
  const outcomes = await Promise.allSettled([
    ...writers.map((writer) => sendInPieces(writer, total, piece)),
    ...readers.map((reader) => reader.untilFin(deadline)),
  ]);
  const milliseconds = performance.now() - since;
  over = true;
  await reading;
  const failed = outcomes.find(({ status }) => status === "rejected");
  if (failed !== undefined) throw new Error(`not all bytes came through ${kind.name} in time`, { cause: failed });
  expect(readers.filter(({ received }) => received !== total)).toEqual([]);
  return milliseconds;
}

for (const direction of ["up", "down"] as const) {
  test(`70 transfers ${direction} to slow readers are not left to the kernel's timers`, async () => {
    // Direct before and after, so that a busy moment of the machine does not pass for its usual speed.
    const before = await transferOf70(direct, direction, 60_000);
    const through = await transferOf70(tunnelOf(compiled), direction, 60_000);
    const after = await transferOf70(direct, direction, 60_000);
    // The readers set the pace, so hops hardly show. Writers that wait for their persist timers (200 ms, doubling) show twenty to fifty
    // times; five seconds are what the start of a stalled machine may take besides.
    expect(through).toBeLessThan(5000 + 5 * Math.max(before, after));
  });
}

/** Milliseconds between the end of 1,000 busy consumers at once and the end of the last connection to their backend. */
async function endOf1000(kind: TunnelKind, how: "close" | "abort"): Promise<number> {
  await using streams = await openBusy(kind, 1000);
  const { consumers, servers } = streams;
  const over = streams.flood();
  const goal = 128 * mebibyte;
  const carried = (sockets: readonly TcpSocket[]) => sockets.reduce((sum, { received }) => sum + received, 0);
  const enough = () => carried(servers) > goal && carried(consumers) > goal;
  const until = performance.now() + 3000;
  await eventually(() => performance.now() > until && enough(), "the streams are busy for some seconds", 60_000);
  const since = performance.now();
  for (const consumer of consumers) consumer[how]();
  // A server that has read the consumer's FIN closes, as most do: the tunnel has nobody left to serve.
  const open = () => servers.filter((server) => !server.closed && !server.fin);
  await eventually(
    () => open().length === 0,
    () => `no backend connection outlives its consumer through ${kind.name}; ${open().length} of ${servers.length} do`,
    30_000,
  );
  const milliseconds = performance.now() - since;
  for (const server of servers) server.abort();
  await over;
  return milliseconds;
}

for (const how of ["abort", "close"] as const) {
  test(`1,000 busy streams whose consumers ${how} at once leave no backend connection behind`, async () => {
    const plain = await endOf1000(direct, how);
    const through = await endOf1000(tunnelOf(compiled), how);
    // Measured: 0.1 to 2.2 s, and once 3.8 s while the sockets held more than the kernel has for all of them (tcp_mem). What the test itself and a busy machine take
    // comes on top, and that varies: a connection that is left behind stays for minutes.
    expect(through).toBeLessThan(15_000 + 3 * plain);
  });
}

test("500 busy streams inside cgroups of 64 MiB finish without a kill", async () => {
  const total = 2 * mebibyte;
  await using proxyGroup = await startCgroup(64 * mebibyte);
  await using targetGroup = await startCgroup(64 * mebibyte);
  const kind: TunnelKind = {
    name: "proxy and target in a cgroup each",
    carriesReset: true,
    open: async ({ backend }) => {
      await using stack = new AsyncDisposableStack();
      const proxy = stack.use(await compiledWith(proxyGroup.launch).startProxy());
      const target = stack.use(
        await compiledWith(targetGroup.launch).startTarget({ proxy: proxy.rendezvous, backend }),
      );
      await untilReady(target);
      await untilReady(proxy);
      const owned = stack.move();
      const { rendezvous, consumers } = proxy;
      return { rendezvous, consumers, proxy, target, [Symbol.asyncDispose]: () => owned.disposeAsync() };
    },
  };
  await using streams = await openBusy(kind, 500);
  const ends = [...streams.consumers, ...streams.servers];
  const piece = pattern(256 * 1024, 3);
  // A process that was killed resets its streams: the senders notice, and the counts below say so.
  const sending = Promise.allSettled(ends.map((end) => sendInPieces(end, total, piece)));
  const running = () => ends.filter(({ closed }) => !closed).length;
  await eventually(
    () => running() === 0,
    () => `2 GiB have passed; ${running()} of ${ends.length} connections are still open`,
    45_000,
  );
  await sending;
  expect({
    kills: [await proxyGroup.kills(), await targetGroup.kills()],
    incomplete: ends.filter(({ received, fin }) => !fin || received !== total + 1).length,
  }).toEqual({ kills: [0, 0], incomplete: 0 });
});

const memoryBounds = [
  { count: 250, bound: 64 },
  { count: 1000, bound: 128 },
];

test.each(memoryBounds)(
  "$count busy streams, some of them read slowly, keep each role below $bound MiB",
  async ({ count, bound }) => {
    await using streams = await openBusy(tunnelOf(compiled), count);
    const { consumers, servers, tunnel } = streams;
    const flooding = streams.flood();
    const isSlow = (_: TcpSocket, at: number) => at % 4 === 0;
    let over = false;
    // One slow reader per four streams at each side, not at the same streams.
    const slow = readSlowly([...consumers.filter(isSlow), ...servers.toReversed().filter(isSlow)], {
      rest: 200,
      read: 10,
      over: () => over,
    });
    const most = { proxy: 0, target: 0 };
    const ends = [...consumers, ...servers];
    const carried = () => ends.reduce((sum, { received }) => sum + received, 0);
    const until = performance.now() + 6000;
    // Both: some seconds, and enough bytes for all buffers on the way to have been filled.
    await eventually(
      () => {
        most.proxy = Math.max(most.proxy, memoryOf(tunnel.proxy));
        most.target = Math.max(most.target, memoryOf(tunnel.target));
        return performance.now() > until && carried() > 512 * mebibyte;
      },
      () => `the streams carry 512 MiB; ${carried()} bytes so far`,
      60_000,
    );
    over = true;
    for (const end of ends) end.abort();
    await Promise.all([slow, flooding]);
    expect(most.proxy).toBeLessThan(bound);
    expect(most.target).toBeLessThan(bound);
  },
);
