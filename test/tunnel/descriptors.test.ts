import { expect, setDefaultTimeout, test } from "bun:test";
import type { TcpSocket } from "../support/tcp.ts";
import { connectTcp, listenEcho } from "../support/tcp-ends.ts";
import { type Implementation, metricsOf, untilMetric, untilReady } from "../support/tunnel.ts";
import { compiled, compiledWith } from "../support/tunnel-compiled.ts";

setDefaultTimeout(60_000);

const few = compiledWith((command) => ["/bin/sh", "-c", 'ulimit -n 200; exec "$@"', "sh", ...command]);

/** Opens more consumers than descriptors are left for, lets go of them, and checks that the tunnel is as good as before. */
async function overload(proxySide: Implementation, targetSide: Implementation): Promise<void> {
  await using backend = await listenEcho();
  await using proxy = await proxySide.startProxy();
  await using target = await targetSide.startTarget({ proxy: proxy.rendezvous, backend });
  await untilReady(proxy);
  const crowd: TcpSocket[] = [];
  {
    await using stack = new AsyncDisposableStack();
    for (let count = 0; count < 400; count += 1) {
      const socket = await connectTcp(proxy.consumers.port).catch(() => undefined);
      if (socket === undefined) continue;
      crowd.push(stack.use(socket));
      socket.send("x").catch(() => {});
    }
    for (const socket of crowd)
      await socket.until((one) => one.received > 0 || one.closed, "a consumer is served or reset", 15_000);
    expect(crowd.filter((socket) => socket.received > 0).length).toBeGreaterThan(50);
    expect(crowd.filter((socket) => socket.reset !== undefined).length).toBeGreaterThan(100);
    // The session lives on descriptors that consumers cannot take.
    await untilReady(proxy);
    await untilReady(target);
  }
  for (const role of [proxy, target]) await untilMetric(role, "netaminity_streams_open", {}, (open) => open === 0);
  for (let turn = 0; turn < 30; turn += 1) {
    await using consumer = await connectTcp(proxy.consumers.port);
    await consumer.send("hello");
    await consumer.untilReceived(5);
  }
  const limited = proxySide === few ? proxy : target;
  const complaints = limited.log.lines.filter(
    (line) => line.level === "error" && line.message.startsWith("too many open files"),
  );
  expect(complaints.length, limited.log.text()).toBe(1);
  expect((await metricsOf(limited)).sum("process_max_fds")).toBe(200);
}

test("a proxy that runs out of descriptors says so once, turns the rest away, and recovers", () =>
  overload(few, compiled));

test("a target that runs out of descriptors says so once, resets what it cannot serve, and recovers", () =>
  overload(compiled, few));
