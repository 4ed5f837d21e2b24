import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { rendezvousPort } from "../../src/names.ts";
import { ownLoopbackAddress, startBoreLocal, startBoreServer } from "../support/bore.ts";
import { connectTcp, listenEcho, listenTcp, unusedPort } from "../support/tcp-ends.ts";
import { ask, type Implementation, metricsOf, untilMetric, untilReady, untilUnready } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";

setDefaultTimeout(60_000);

async function echoes(host: string, port: number): Promise<void> {
  await using consumer = await connectTcp(port, { host });
  await consumer.send("ping");
  await consumer.untilReceived(4);
}

function clients(implementation: Implementation): void {
  test("a bore client with a wrong secret is refused, counted, and told why", async () => {
    const host = ownLoopbackAddress();
    await using proxy = await implementation.startProxy({ host, rendezvousPort });
    await using client = await startBoreLocal(host, { host: "127.0.0.1", port: 9 }, { secret: "wrong" });
    expect(await client.exited()).toBe(1);
    expect(client.log.text()).toContain("invalid secret");
    await untilMetric(proxy, "netaminity_auth_failures_total", {}, (count) => count === 1);
    expect((await ask(proxy, "/readyz")).status).toBe(503);
  });

  test("a bore client that is killed leaves the proxy unready, and the next one is served", async () => {
    const host = ownLoopbackAddress();
    await using backend = await listenEcho();
    await using proxy = await implementation.startProxy({ host, rendezvousPort });
    {
      await using client = await startBoreLocal(host, backend);
      await untilReady(proxy);
      await echoes(host, proxy.consumers.port);
      client.signal("SIGKILL");
      await untilUnready(proxy);
    }
    await using _next = await startBoreLocal(host, backend);
    await untilReady(proxy);
    await echoes(host, proxy.consumers.port);
  });

  test("a bore client whose backend is absent makes its consumers end, not hang", async () => {
    const host = ownLoopbackAddress();
    await using proxy = await implementation.startProxy({ host, rendezvousPort });
    await using _client = await startBoreLocal(host, { host: "127.0.0.1", port: unusedPort() });
    await untilReady(proxy);
    await using consumer = await connectTcp(proxy.consumers.port, { host });
    await consumer.until((one) => one.fin || one.closed, "the consumer's connection ends");
    expect(consumer.received).toBe(0);
  });

  test("a bore client that has stopped does not keep consumers hanging", async () => {
    const host = ownLoopbackAddress();
    await using backend = await listenEcho();
    await using proxy = await implementation.startProxy({ host, rendezvousPort, deadline: 700 });
    await using client = await startBoreLocal(host, backend);
    await untilReady(proxy);
    client.signal("SIGSTOP");
    await using consumer = await connectTcp(proxy.consumers.port, { host });
    await consumer.untilReset();
    client.signal("SIGCONT");
    await echoes(host, proxy.consumers.port);
  });

  test("a bore client and a netaminity target serve the same proxy side by side", async () => {
    const host = ownLoopbackAddress();
    await using stock = await listenTcp({ onOpen: (socket) => void socket.send("bore") });
    await using own = await listenTcp({ onOpen: (socket) => void socket.send("ours") });
    await using proxy = await implementation.startProxy({ host, rendezvousPort });
    await using _client = await startBoreLocal(host, stock);
    await untilReady(proxy);
    await using target = await implementation.startTarget({ proxy: proxy.rendezvous, backend: own });
    await untilReady(target);
    const names = [];
    for (let count = 0; count < 4; count += 1) {
      const consumer = await connectTcp(proxy.consumers.port, { host });
      await consumer.untilReceived(4);
      names.push(consumer.text());
    }
    expect(names.sort()).toEqual(["bore", "bore", "ours", "ours"]);
    expect((await metricsOf(proxy)).sum("netaminity_sessions")).toBe(2);
  });
}

function servers(implementation: Implementation): void {
  test("a target at a bore server that is killed is unready, and attaches again when there is a new one", async () => {
    const host = ownLoopbackAddress();
    await using backend = await listenEcho();
    const server = await startBoreServer({}, host);
    await using target = await implementation.startTarget({ proxy: server.rendezvous, backend, borePort: 0 });
    await untilReady(target);
    await server[Symbol.asyncDispose]();
    await untilUnready(target);
    await using next = await startBoreServer({}, host);
    await untilReady(target, 25_000);
    expect(next.rendezvous).toEqual(server.rendezvous);
  });

  test("a target notices a bore server that has stopped by its missing heartbeats", async () => {
    await using backend = await listenEcho();
    await using server = await startBoreServer();
    await using target = await implementation.startTarget({
      proxy: server.rendezvous,
      backend,
      borePort: 0,
      deadline: 1500,
    });
    await untilReady(target);
    server.process.signal("SIGSTOP");
    await untilUnready(target);
    server.process.signal("SIGCONT");
    await untilReady(target, 25_000);
    await echoes(server.rendezvous.host, await target.boundPort());
  });

  test("a target gets the port that it asks a bore server for", async () => {
    await using backend = await listenEcho();
    await using server = await startBoreServer();
    const borePort = unusedPort(server.rendezvous.host);
    await using target = await implementation.startTarget({ proxy: server.rendezvous, backend, borePort });
    await untilReady(target);
    expect(await target.boundPort()).toBe(borePort);
    await echoes(server.rendezvous.host, borePort);
  });

  test("a target with a wrong secret for a bore server says so and stays unready", async () => {
    await using backend = await listenEcho();
    await using server = await startBoreServer({ secret: "right" });
    await using target = await implementation.startTarget({
      secrets: ["wrong"],
      proxy: server.rendezvous,
      backend,
      borePort: 0,
    });
    await untilMetric(target, "netaminity_reconnects_total", {}, (count) => count >= 1);
    expect(target.log.text()).toContain("secret");
    expect((await ask(target, "/readyz")).status).toBe(503);
  });
}

for (const implementation of [inProcess, compiled]) {
  describe(`bore local at the proxy ${implementation.name}`, () => clients(implementation));
  describe(`the target ${implementation.name} at bore server`, () => servers(implementation));
}
