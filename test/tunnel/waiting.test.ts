/** What must not wait for something that never comes. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { startRelay } from "../support/relay.ts";
import { connectTcp, listenEcho, listenTcp } from "../support/tcp-ends.ts";
import { type Implementation, untilMetric, untilReady } from "../support/tunnel.ts";
import { attachByHand, untilHeard } from "../support/tunnel-by-hand.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { untilPooled } from "../support/tunnel-relayed.ts";

setDefaultTimeout(60_000);

function waiting(implementation: Implementation): void {
  test("a lost session does not wait for a look at the endpoint that hangs", async () => {
    await using backend = await listenEcho();
    await using proxy = await implementation.startProxy();
    await using relay = await startRelay(proxy.rendezvous);
    await using silent = await listenTcp();
    // Without a pool nothing but the look connects.
    await using target = await implementation.startTarget({ proxy: relay, backend, poolMin: 0 });
    await untilReady(proxy);
    relay.leadTo(silent);
    const look = await silent.accept();
    relay.leadTo(proxy.rendezvous);
    relay.links[0]?.reset();
    await untilMetric(target, "netaminity_sessions_opened_total", {}, (count) => count === 2);
    // The look is over only when its own deadline is: the new session came first.
    expect(look.closed).toBe(false);
  });

  test("a consumer that waits when its proxy begins to drain still gets a data connection", async () => {
    await using proxy = await implementation.startProxy({ deadline: 10_000 });
    await using target = await attachByHand(proxy);
    await using consumer = await connectTcp(proxy.consumers.port);
    await consumer.send("ping");
    await untilHeard(target.control, "Open");
    const draining = proxy.drain();
    await untilHeard(target.control, "Drain");
    const connection = await target.join(1);
    await untilHeard(connection, "Start");
    await connection.say("Started");
    await connection.socket.send("pong");
    await consumer.untilReceived(4);
    connection.socket.finish();
    consumer.finish();
    await draining;
    expect({ text: consumer.text(), reset: consumer.reset }).toEqual({ text: "pong", reset: undefined });
  });

  test("a proxy that drains while a consumer waits takes no new session, and says so by closing", async () => {
    await using proxy = await implementation.startProxy({ deadline: 10_000 });
    await using target = await attachByHand(proxy);
    await using consumer = await connectTcp(proxy.consumers.port);
    await untilHeard(target.control, "Open");
    const draining = proxy.drain();
    await untilHeard(target.control, "Drain");
    await expect(attachByHand(proxy)).rejects.toThrow();
    consumer.abort();
    await draining;
  });

  test.each(["Started", { Refused: { result: "refused", reason: "no" } }])(
    "an idle data connection that answers a start nobody sent (%j) leaves the pool",
    async (answer) => {
      await using proxy = await implementation.startProxy({ deadline: 10_000 });
      await using target = await attachByHand(proxy);
      const good = await target.join(1);
      await untilPooled(proxy, 1);
      const bad = await target.join(2);
      await untilPooled(proxy, 2);
      await bad.say(answer);
      await bad.socket.untilReset();
      await untilMetric(proxy, "netaminity_pool_idle", {}, (count) => count === 1);
      await using _consumer = await connectTcp(proxy.consumers.port);
      await untilHeard(good, "Start");
    },
  );

  test("a target that was ordered to stop has not lost its session when the proxy goes first", async () => {
    await using backend = await listenEcho();
    const proxy = await implementation.startProxy();
    await using target = await implementation.startTarget({ proxy: proxy.rendezvous, backend });
    await untilReady(target);
    await untilReady(proxy);
    await using consumer = await connectTcp(proxy.consumers.port);
    await consumer.send("ping");
    await consumer.untilReceived(4);
    const draining = target.drain();
    await proxy.log.first("session drained by its target");
    await proxy[Symbol.asyncDispose]();
    await draining;
    expect(target.log.all("session lost")).toEqual([]);
  });
}

for (const implementation of [inProcess, compiled]) {
  describe(implementation.name, () => waiting(implementation));
}
