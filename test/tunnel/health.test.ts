import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { connectTcp, listenTcp } from "../support/tcp-ends.ts";
import {
  ask,
  type Implementation,
  metricsOf,
  tunnelOf,
  untilMetric,
  untilReady,
  untilUnready,
} from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { openRig } from "../support/tunnel-rig.ts";

setDefaultTimeout(60_000);

function healthCases(implementation: Implementation): void {
  test("a proxy is alive from the start, ready with a session, and unready without", async () => {
    await using backend = await listenTcp();
    await using proxy = await implementation.startProxy({ deadline: 700 });
    expect(await ask(proxy, "/healthz")).toEqual({ status: 200, body: "alive" });
    expect((await ask(proxy, "/readyz")).status).toBe(503);
    {
      await using target = await implementation.startTarget({ proxy: proxy.rendezvous, backend, deadline: 700 });
      await untilReady(proxy);
      await untilReady(target);
      expect(await ask(proxy, "/readyz")).toEqual({ status: 200, body: "ready" });
      expect(await ask(target, "/readyz")).toEqual({ status: 200, body: "ready" });
    }
    await untilUnready(proxy);
    expect((await ask(proxy, "/healthz")).status).toBe(200);
    expect((await ask(proxy, "/else")).status).toBe(404);
  });

  test("a target is alive without a proxy and unready with a reason", async () => {
    await using proxy = await implementation.startProxy();
    await proxy[Symbol.asyncDispose]();
    await using target = await implementation.startTarget({
      proxy: proxy.rendezvous,
      backend: { host: "127.0.0.1", port: 9 },
    });
    expect((await ask(target, "/healthz")).status).toBe(200);
    const ready = await ask(target, "/readyz");
    expect(ready.status).toBe(503);
    expect(ready.body).not.toBe("");
    expect((await ask(target, "/else")).status).toBe(404);
  });

  test("a target says while the latest connection to its backend did not come about", async () => {
    await using proxy = await implementation.startProxy();
    const backend = await listenTcp();
    await using target = await implementation.startTarget({ proxy: proxy.rendezvous, backend });
    await untilReady(proxy);
    const failing = (value: number) => untilMetric(target, "netaminity_backend_failing", {}, (now) => now === value);
    await failing(0);
    const { port } = backend;
    await backend[Symbol.asyncDispose]();
    const first = await connectTcp(proxy.consumers.port);
    await first.untilClosed();
    await failing(1);
    await using _again = await listenTcp({ port });
    const second = await connectTcp(proxy.consumers.port);
    await failing(0);
    second.abort();
  });

  test("both roles count streams and bytes of each direction", async () => {
    await using rig = await openRig(tunnelOf(implementation));
    const { proxy, target } = rig.tunnel;
    if (proxy === undefined || target === undefined) throw new Error("both roles are ours");
    const { consumer, server } = await rig.pair();
    await consumer.send(new Uint8Array(1000));
    await server.send(new Uint8Array(20_000));
    await Promise.all([server.untilReceived(1000), consumer.untilReceived(20_000)]);
    consumer.finish();
    server.finish();
    await Promise.all([consumer.untilClosed(), server.untilClosed()]);
    for (const role of [proxy, target]) {
      await untilMetric(role, "netaminity_streams_total", { result: "completed" }, (count) => count === 1);
      const metrics = await metricsOf(role);
      expect({
        up: metrics.sum("netaminity_stream_bytes_total", { direction: "to_backend" }),
        down: metrics.sum("netaminity_stream_bytes_total", { direction: "to_consumer" }),
        streams: metrics.sum("netaminity_streams_total"),
      }).toEqual({ up: 1000, down: 20_000, streams: 1 });
      expect(metrics.has("process_resident_memory_bytes")).toBe(true);
    }
  });

  test("a reset stream is counted as such on both sides", async () => {
    await using rig = await openRig(tunnelOf(implementation));
    const { proxy, target } = rig.tunnel;
    if (proxy === undefined || target === undefined) throw new Error("both roles are ours");
    const { consumer, server } = await rig.pair();
    await consumer.send("x");
    await server.untilReceived(1);
    consumer.abort();
    await server.untilReset();
    await untilMetric(proxy, "netaminity_streams_total", { result: "reset" }, (count) => count === 1);
    await untilMetric(target, "netaminity_streams_total", { result: "reset" }, (count) => count === 1);
  });
}

for (const implementation of [inProcess, compiled]) {
  describe(implementation.name, () => healthCases(implementation));
}
