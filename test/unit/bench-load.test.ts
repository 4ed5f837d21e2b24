import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runLoad } from "../bench/load.ts";
import { runToEnd } from "../bench/process.ts";
import { freePort } from "../bench/site.ts";

/** Milliseconds after which the relay lets its allowance pass; inside the window of the load generator. */
const allowanceAfter = 500;
const compileTimeout = 120_000;

const folder = mkdtempSync(join(tmpdir(), "bench-load-"));
const load = join(folder, "load");

beforeAll(async () => {
  await runToEnd(["go", "build", "-C", join(import.meta.dir, "../bench"), "-o", load, "./load"], compileTimeout / 1000);
}, compileTimeout);
afterAll(() => rmSync(folder, { recursive: true }));

/** A relay that lets the first byte pass at once, exactly `allowance` bytes more a little later, and then nothing. */
async function openRelay(backendPort: number, allowance: number) {
  const sockets: Socket[] = [];
  const seen = { connections: 0, resets: 0 };
  const server = createServer((consumer) => {
    seen.connections++;
    const backend = connect(backendPort, "127.0.0.1");
    sockets.push(consumer, backend);
    for (const [from, to] of [
      [consumer, backend],
      [backend, consumer],
    ] as const) {
      from.on("error", (error: NodeJS.ErrnoException) => {
        if (from === consumer && error.code === "ECONNRESET") seen.resets++;
        to.destroy();
      });
      from.on("close", () => to.destroy());
      from.once("readable", () => {
        to.write(from.read(1));
        setTimeout(() => passExactly(from, to, allowance), allowanceAfter);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function passExactly(from: Socket, to: Socket, allowance: number): void {
  let left = allowance;
  from.on("data", (data: Buffer) => {
    const passed = data.subarray(0, left);
    left -= passed.length;
    // What is beyond the allowance is read and dropped, so that the end is seen too.
    if (passed.length > 0) to.write(passed);
  });
}

describe("load generator", () => {
  test("it counts exactly the bytes that arrive, in each direction", async () => {
    const backendPort = await freePort("127.0.0.1");
    const allowance = 1_234_567;
    await using relay = await openRelay(backendPort, allowance);
    const result = await runLoad("throughput", {
      command: [load],
      flags: {
        connect: relay.address,
        backend: `127.0.0.1:${backendPort}`,
        streams: 2,
        direction: "both",
        for: "1.5s",
        warm: "0s",
      },
      watch: { self: process.pid },
      timeout: 20,
    });
    expect([result.upBytes, result.downBytes, result.left]).toEqual([2 * allowance, 2 * allowance, 0]);
    expect(result.seconds).toBeGreaterThanOrEqual(1.5);
    expect(result.watched.self?.peakRssAnon).toBeGreaterThan(1_000_000);
    expect(result.watched.self?.cpuSeconds).toBeGreaterThan(0);
  }, 30_000);

  test("idle streams are as many as asked for, and all end", async () => {
    const backendPort = await freePort("127.0.0.1");
    await using relay = await openRelay(backendPort, 0);
    const flags = { connect: relay.address, backend: `127.0.0.1:${backendPort}`, streams: 7, for: "100ms", warm: "0s" };
    const result = await runLoad("idle", { command: [load], flags, timeout: 20 });
    expect([result.streams, result.left, relay.seen.connections]).toEqual([7, 0, 7]);
  });

  test("beside busy streams others stay silent, and new connections get their first replies", async () => {
    const backendPort = await freePort("127.0.0.1");
    const allowance = 100_000;
    await using relay = await openRelay(backendPort, allowance);
    const result = await runLoad("throughput", {
      command: [load],
      flags: {
        connect: relay.address,
        backend: `127.0.0.1:${backendPort}`,
        streams: 2,
        direction: "down",
        idle: 30,
        count: 3,
        "at-once": 8,
        reset: "true",
        for: "1s",
        warm: "0s",
      },
      watch: { self: process.pid },
      timeout: 20,
    });
    expect([result.downBytes, result.upBytes, result.left]).toEqual([2 * allowance, 0, 0]);
    expect(relay.seen.connections).toBe(2 + 30 + 3);
    expect(relay.seen.resets).toBe(2 + 30);
    expect(result.replies).toHaveLength(3);
    expect(Math.min(...result.replies)).toBeGreaterThan(0);
    expect(Object.keys(result.watched)).toEqual(["self"]);
    expect(result.peakSocketPages).toBeGreaterThan(0);
  }, 30_000);

  test("it counts exchanges and tells why others failed", async () => {
    const port = await freePort("127.0.0.1");
    const flags = { connect: `127.0.0.1:${port}`, backend: `127.0.0.1:${port}`, streams: 3, for: "300ms", warm: "0s" };
    const result = await runLoad("rate", { command: [load], flags, timeout: 20 });
    expect(result.failures).toBe(0);
    expect(result.exchanges).toBeGreaterThan(0);
    expect(result.p50).toBeGreaterThan(0);
    expect(result.p99).toBeGreaterThanOrEqual(result.p50);
    const refused = { ...flags, connect: `127.0.0.1:${await freePort("127.0.0.1")}` };
    await expect(runLoad("rate", { command: [load], flags: refused, timeout: 20 })).rejects.toThrow(
      "connection refused",
    );
  });

  test(
    "the link keeps its rate, queue and losses; the soak finds what is wrong, and nothing on a direct connection",
    async () => {
      const output = await runToEnd(
        ["go", "test", "-C", join(import.meta.dir, "../bench"), "./..."],
        compileTimeout / 1000,
      );
      expect(output).toMatch(/^ok\s+netaminity\/bench\/soak/m);
      expect(output).toMatch(/^ok\s+netaminity\/bench\/delay/m);
    },
    compileTimeout,
  );
});
