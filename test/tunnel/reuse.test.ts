/** Data connections carry one stream after another: what that must not change for anybody. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile } from "node:fs/promises";
import type { Cut } from "../support/relay.ts";
import { connectTcp, listenEcho, listenTcp } from "../support/tcp-ends.ts";
import { eventually } from "../support/tcp-wait.ts";
import { type Implementation, metricsOf, type RunningProxy, tunnelOf, untilMetric } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { openRelayed, untilPooled } from "../support/tunnel-relayed.ts";

setDefaultTimeout(60_000);

const mebibyte = 1024 * 1024;

/** IPv4 sockets of this machine in TIME_WAIT with that port at one end (proc(5): state 06). */
async function waitingAt(port: number): Promise<number> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = (await readFile("/proc/net/tcp", "utf8")).split("\n").map((line) => line.trim().split(/\s+/));
  return rows.filter(
    ([, local, remote, state]) => state === "06" && [local, remote].some((end) => end?.endsWith(suffix)),
  ).length;
}

test("thousands of streams need a handful of connections, leave none of them to TIME_WAIT, and cost no memory", async () => {
  await using tunnel = await openRelayed(
    compiled,
    {
      onData: (chunk, socket) => void socket.send(new Uint8Array(chunk)).catch(() => {}),
      onFin: (socket) => socket.finish(),
      keep: false,
    },
    { poolMin: 1, poolMax: 4 },
  );
  const { proxy, target, relay } = tunnel;
  const run = async (count: number) => {
    for (let turn = 0; turn < count; turn += 1) {
      const consumer = await tunnel.connect();
      const text = `stream ${turn}`;
      await consumer.send(text);
      await consumer.untilReceived(text.length);
      expect(consumer.text()).toBe(text);
      consumer.finish();
      await consumer.untilClosed();
      expect(consumer.reset).toBeUndefined();
    }
  };
  const memory = () => [proxy, target].map(({ process }) => process?.memory() ?? 0);
  const runners = (count: number) => Promise.all(Array.from({ length: 4 }, () => run(count / 4)));
  await runners(2000);
  const before = memory();
  await runners(8000);
  const growth = memory().map((bytes, index) => (bytes - (before[index] ?? 0)) / mebibyte);
  expect((await metricsOf(target)).sum("netaminity_streams_total", { result: "completed" })).toBe(10_000);
  // The control connection and the looks at the endpoint, every 2 s, are among them.
  expect(relay.links.length).toBeLessThan(60);
  expect(await waitingAt(proxy.rendezvous.port)).toBeLessThan(60);
  for (const each of growth) expect(each).toBeLessThan(20);
});

async function untilIdle(proxy: RunningProxy | undefined): Promise<void> {
  if (proxy === undefined) throw new Error("the proxy is ours");
  await untilMetric(proxy, "netaminity_streams_open", {}, (count) => count === 0);
}

const encryptions = ["off", "required"] as const;

function stalledReaders(implementation: Implementation, encryption: (typeof encryptions)[number]): void {
  test.each([1024, 10 * mebibyte])(
    "a reset reaches the other end behind %i bytes that nobody there reads",
    async (bytes) => {
      await using backend = await listenTcp({ onOpen: (socket) => socket.pause() });
      await using tunnel = await tunnelOf(implementation, encryption).open({ backend });
      for (const side of ["consumer", "backend"] as const) {
        await using consumer = await connectTcp(tunnel.consumers.port);
        consumer.pause();
        // A word, so that both ends are there.
        await consumer.send("x");
        const server = await backend.accept();
        const [sender, reader] = side === "consumer" ? [consumer, server] : [server, consumer];
        sender.send(new Uint8Array(bytes)).catch(() => {});
        await eventually(() => sender.accepted > Math.min(bytes, 64 * 1024) - 1, "bytes are on the way");
        sender.abort();
        await reader.until(
          (socket) => socket.reset !== undefined || socket.closed,
          `the ${side}'s reset arrives`,
          8000,
        );
        expect(reader.fin).toBe(false);
      }
      await untilIdle(tunnel.proxy);
    },
  );

  test("a stream that nobody reads stalls no other one", async () => {
    await using backend = await listenTcp({
      onData: (chunk, socket) => void socket.send(new Uint8Array(chunk)).catch(() => {}),
    });
    await using tunnel = await tunnelOf(implementation, encryption).open({ backend, poolMin: 1 });
    await using slow = await connectTcp(tunnel.consumers.port);
    slow.pause();
    slow.send(new Uint8Array(64 * mebibyte)).catch(() => {});
    await eventually(() => slow.accepted > mebibyte, "the slow stream is full");
    for (let turn = 0; turn < 50; turn += 1) {
      await using consumer = await connectTcp(tunnel.consumers.port);
      await consumer.send(`number ${turn}`);
      await consumer.untilReceived(`number ${turn}`.length);
    }
    slow.abort();
  });
}

describe.each([inProcess, compiled])("$name", (implementation: Implementation) => {
  describe.each(encryptions)("encryption %s", (encryption) => stalledReaders(implementation, encryption));
});

const cuts: { encryption: (typeof encryptions)[number]; how: Cut }[] = encryptions.flatMap((encryption) =>
  (["reset", "fin"] as const).map((how) => ({ encryption, how })),
);

test.each(cuts)("an answer that is cut on the way is a reset, wherever it is cut: %o", async ({ encryption, how }) => {
  const answer = new Uint8Array(100_000).fill(97);
  await using tunnel = await openRelayed(
    inProcess,
    {
      onData: (_chunk, socket) => {
        socket.send(answer).catch(() => {});
        socket.finish();
      },
    },
    { encryption, poolMin: 1, poolMax: 1 },
  );
  for (const at of [1, 3, 4, 5, 8, 9, 21, 22, 1000, 16_384, 65_541, 99_999, 100_007, 100_010]) {
    await untilPooled(tunnel.proxy, 1);
    tunnel.relay.cutAfter(
      at,
      "up",
      how,
      tunnel.relay.links.slice(1).filter((link) => link.open),
    );
    await using consumer = await tunnel.connect();
    await consumer.send("question");
    await consumer.until((socket) => socket.closed || socket.fin, "an answer or an end");
    // Whole and ended in order, or visibly cut.
    expect({
      at,
      ok: consumer.received === answer.byteLength || (consumer.reset !== undefined && !consumer.fin),
    }).toEqual({
      at,
      ok: true,
    });
    tunnel.relay.cutNothing();
  }
});

test("an answer that was complete before its proxy or target was killed is complete", async () => {
  await using backend = await listenEcho();
  for (const side of ["proxy", "target"] as const) {
    await using tunnel = await tunnelOf(compiled).open({ backend, poolMin: 2 });
    for (let turn = 0; turn < 20; turn += 1) {
      await using consumer = await connectTcp(tunnel.consumers.port);
      await consumer.send("used again");
      await consumer.untilReceived(10);
      consumer.finish();
      await consumer.untilFin();
    }
    await using whole = await connectTcp(tunnel.consumers.port);
    await whole.send("whole");
    whole.finish();
    await whole.untilFin();
    await using running = await connectTcp(tunnel.consumers.port);
    await running.send("running");
    await running.untilReceived(7);
    tunnel[side]?.process?.signal("SIGKILL");
    await running.untilReset();
    expect({ text: whole.text(), reset: whole.reset, fin: running.fin }).toEqual({
      text: "whole",
      reset: undefined,
      fin: false,
    });
  }
});
