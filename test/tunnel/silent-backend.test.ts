import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connectWire } from "../../src/agent/net/connect.ts";
import { connectFirst } from "../../src/agent/net/dial.ts";
import { DialRoom } from "../../src/agent/net/dial-room.ts";
import { openBlackhole } from "../support/tcp-blackhole.ts";
import { connectTcp, listenEcho } from "../support/tcp-ends.ts";
import { eventually } from "../support/tcp-wait.ts";
import { metricsOf, untilMetric, untilReady } from "../support/tunnel.ts";
import { compiledWith } from "../support/tunnel-compiled.ts";

setDefaultTimeout(60_000);

/** Connections on their way from this machine to a port of 127.0.0.1 (proc(5), net/tcp: 02 is SYN-SENT). */
function onTheirWay(port: number): number {
  const to = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .filter((line) => line.includes(` ${to} 02 `)).length;
}

function socketsOf(process: number | "self"): number {
  return readdirSync(`/proc/${process}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${process}/fd/${fd}`).startsWith("socket:");
    } catch {
      return false;
    }
  }).length;
}

test("a dial that nobody answers keeps no descriptor once its time is up", async () => {
  await using hole = await openBlackhole();
  const before = socketsOf("self");
  const dials = Array.from({ length: 20 }, () => connectFirst([hole.host], hole.port, 200).catch(String));
  expect(onTheirWay(hole.port)).toBe(20);
  expect((await Promise.all(dials))[0]).toContain("no answer from");
  await eventually(() => onTheirWay(hole.port) === 0, "no connection is on its way", 1000);
  expect(socketsOf("self")).toBe(before);
});

test("the attempts that lose against a later one are closed", async () => {
  await using hole = await openBlackhole();
  await using echo = await listenEcho();
  const wire = await connectFirst(["first", "second"], 1, 5000, {
    connect: (address) => connectWire("127.0.0.1", address === "first" ? hole.port : echo.port),
  });
  expect(wire.remote.port).toBe(echo.port);
  await eventually(() => onTheirWay(hole.port) === 0, "no connection is on its way", 1000);
  wire.reset();
});

test("a full room refuses while its attempts are young, and gives up the oldest for a new one later", async () => {
  await using hole = await openBlackhole();
  const room = new DialRoom(2);
  const first = room.connect(hole.host, hole.port);
  const second = room.connect(hole.host, hole.port);
  const text = "2 connections are on their way and nothing answers: no more are tried";
  await expect(room.connect(hole.host, hole.port).wire).rejects.toMatchObject({ result: "overload", message: text });
  const replaced = first.wire.catch((cause: Error) => cause.message);
  // Any attempt is one for which there is room, once the oldest has had its second.
  const third = await eventually(async () => {
    const attempt = room.connect(hole.host, hole.port);
    return (await Promise.race([attempt.wire.catch(() => "refused"), Bun.sleep(20)])) === "refused"
      ? undefined
      : attempt;
  }, "there is room");
  expect(await replaced).toBe(text);
  expect(onTheirWay(hole.port)).toBe(2);
  for (const attempt of [second, third]) {
    attempt.giveUp();
    await attempt.wire.catch(() => {});
  }
  await eventually(() => onTheirWay(hole.port) === 0, "no connection is on its way", 1000);
});

const limit = 400;
const few = compiledWith((command) => ["/bin/sh", "-c", `ulimit -n ${limit}; exec "$@"`, "sh", ...command]);

test("a silent backend uses up no descriptors, harms no session, and serves as soon as it is back", async () => {
  const hole = await openBlackhole();
  await using proxy = await compiledWith((command) => command).startProxy();
  await using target = await few.startTarget({ proxy: proxy.rendezvous, backend: hole });
  await untilReady(target);
  await untilReady(proxy);
  {
    await using crowd = new AsyncDisposableStack();
    for (let count = 0; count < limit; count += 1) {
      crowd.use(await connectTcp(proxy.consumers.port));
    }
    await untilMetric(
      target,
      "netaminity_backend_dials_total",
      { result: "overload" },
      (refused) => refused > 0,
      15_000,
    );
    expect(onTheirWay(hole.port)).toBeLessThanOrEqual(limit / 4);
    await untilReady(target);
    expect((await metricsOf(target)).sum("netaminity_sessions_lost_total")).toBe(0);
    await hole[Symbol.asyncDispose]();
    await using back = await listenEcho({ port: hole.port });
    await eventually(
      async () => {
        await using consumer = await connectTcp(proxy.consumers.port);
        await consumer.send("hello");
        await consumer.until((one) => one.received > 0 || one.closed, "an answer or an end");
        return consumer.text() === "hello" && back.port === hole.port;
      },
      "a consumer is served",
      3000,
    );
  }
});
