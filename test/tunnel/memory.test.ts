import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { startCgroup } from "../support/process-cgroup.ts";
import type { TcpSocket } from "../support/tcp.ts";
import { connectTcp, listenEcho, listenTcp } from "../support/tcp-ends.ts";
import { type RunningRole, tunnelOf, untilReady } from "../support/tunnel.ts";
import { compiled, compiledWith } from "../support/tunnel-compiled.ts";
import { openRig } from "../support/tunnel-rig.ts";
import { pattern } from "./cases.ts";

setDefaultTimeout(60_000);

const mebibyte = 1024 * 1024;

function memoryOf(role: RunningRole | undefined): number {
  if (role?.process === undefined) throw new Error("the role is no process of its own");
  return role.process.memory() / mebibyte;
}

test("each role idles below 48 MiB of resident anonymous memory", async () => {
  await using backend = await listenTcp();
  await using tunnel = await tunnelOf(compiled).open({ backend });
  await using consumer = await connectTcp(tunnel.consumers.port);
  await consumer.send("x");
  await (await backend.accept()).untilReceived(1);
  expect(memoryOf(tunnel.proxy)).toBeLessThan(48);
  expect(memoryOf(tunnel.target)).toBeLessThan(48);
});

/** Streams `total` bytes one way with a bounded part on the way, and returns digests of what was sent and what arrived. */
async function transfer(total: number, from: TcpSocket): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  const block = pattern(4 * mebibyte, 11);
  const numbers = new DataView(block.buffer);
  for (let sent = 0; sent < total; sent += block.byteLength) {
    numbers.setFloat64(0, sent);
    const part = block.subarray(0, Math.min(block.byteLength, total - sent));
    hash.update(part);
    await from.send(part);
  }
  from.finish();
  return hash.digest("hex");
}

describe("1 GiB", () => {
  const total = 1024 * mebibyte;

  test("from consumer to backend arrives with the same checksum and bounded memory", async () => {
    const arrived = new Bun.CryptoHasher("sha256");
    await using rig = await openRig(tunnelOf(compiled), { keep: false, onData: (chunk) => void arrived.update(chunk) });
    const { consumer, server } = await rig.pair();
    const sent = await transfer(total, consumer);
    await server.untilFin(60_000);
    expect({ bytes: server.received, digest: arrived.digest("hex") }).toEqual({ bytes: total, digest: sent });
    expect(memoryOf(rig.tunnel.proxy)).toBeLessThan(64);
    expect(memoryOf(rig.tunnel.target)).toBeLessThan(64);
  }, 120_000);

  test("from backend to consumer arrives with the same checksum and bounded memory", async () => {
    const arrived = new Bun.CryptoHasher("sha256");
    await using rig = await openRig(tunnelOf(compiled));
    const { consumer, server } = await rig.pair({ keep: false, onData: (chunk) => void arrived.update(chunk) });
    const sent = await transfer(total, server);
    await consumer.untilFin(60_000);
    expect({ bytes: consumer.received, digest: arrived.digest("hex") }).toEqual({ bytes: total, digest: sent });
    expect(memoryOf(rig.tunnel.proxy)).toBeLessThan(64);
    expect(memoryOf(rig.tunnel.target)).toBeLessThan(64);
  }, 120_000);
});

/** Sends `total` bytes to an echo and takes all of them back. */
async function exchange(consumer: TcpSocket, total: number): Promise<void> {
  const block = pattern(64 * 1024, 12);
  for (let sent = 0; sent < total; sent += block.byteLength) {
    await consumer.send(block);
    // At most a few blocks are on the way, so that the echo's own queue stays small.
    await consumer.until((one) => one.received >= sent - 4 * block.byteLength, "the echo keeps up", 60_000);
  }
  await consumer.untilReceived(total, 60_000);
}

test("each role stays inside a cgroup of 64 MiB while 500 streams move data at once", async () => {
  await using proxyGroup = await startCgroup(64 * mebibyte);
  await using targetGroup = await startCgroup(64 * mebibyte);
  await using backend = await listenEcho();
  await using proxy = await compiledWith(proxyGroup.launch).startProxy();
  await using target = await compiledWith(targetGroup.launch).startTarget({ proxy: proxy.rendezvous, backend });
  await untilReady(target);
  await untilReady(proxy);
  await using stack = new AsyncDisposableStack();
  const consumers: TcpSocket[] = [];
  for (let count = 0; count < 500; count += 50) {
    const more = await Promise.all(Array.from({ length: 50 }, () => connectTcp(proxy.consumers.port, { keep: false })));
    consumers.push(...more.map((socket) => stack.use(socket)));
    for (const socket of more) await socket.send("x");
    await Promise.all(more.map((socket) => socket.untilReceived(1, 20_000)));
  }
  await Promise.all(consumers.map((consumer) => exchange(consumer, mebibyte / 2)));
  expect(consumers.filter((consumer) => consumer.closed)).toEqual([]);
  expect({ proxy: await proxyGroup.kills(), target: await targetGroup.kills() }).toEqual({ proxy: 0, target: 0 });
  expect((await proxyGroup.members()).length).toBe(1);
  expect((await targetGroup.members()).length).toBe(1);
  expect(target.process?.memory()).toBeLessThan(64 * mebibyte);
}, 120_000);
