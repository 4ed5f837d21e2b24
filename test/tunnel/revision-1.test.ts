/** Peers of the version before, which know no frames and no encryption, with those of this one: built from its sources. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startRelay } from "../support/relay.ts";
import { executableOfRevision1 } from "../support/revision-1.ts";
import { connectTcp, listenEcho, listenTcp } from "../support/tcp-ends.ts";
import { type Implementation, metricsOf, type TunnelKind, untilMetric, untilReady } from "../support/tunnel.ts";
import { compiled, compiledWith } from "../support/tunnel-compiled.ts";
import { untilPooled } from "../support/tunnel-relayed.ts";
import { tunnelCases } from "./cases.ts";

setDefaultTimeout(60_000);

let before = "";
beforeAll(async () => {
  before = await executableOfRevision1();
});

const old: Implementation = {
  ...compiledWith(([, ...rest]) => [before, ...rest]),
  name: "of the version before",
};
const pairs: { proxies: Implementation; targets: Implementation }[] = [
  { proxies: old, targets: compiled },
  { proxies: compiled, targets: old },
];

for (const { proxies, targets } of pairs) {
  const kind: TunnelKind = {
    name: `a proxy ${proxies.name} and a target ${targets.name}`,
    carriesReset: true,
    open: async (options) => {
      await using stack = new AsyncDisposableStack();
      const proxy = stack.use(await proxies.startProxy(options));
      const target = stack.use(await targets.startTarget({ ...options, proxy: proxy.rendezvous }));
      await untilReady(target);
      await untilReady(proxy);
      const owned = stack.move();
      const { consumers, rendezvous } = proxy;
      return { consumers, rendezvous, proxy, target, [Symbol.asyncDispose]: () => owned.disposeAsync() };
    },
  };
  tunnelCases(kind);

  describe(kind.name, () => {
    test("a burst larger than the pool, again and again", async () => {
      await using backend = await listenEcho();
      await using tunnel = await kind.open({ backend, poolMax: 8 });
      if (tunnel.proxy === undefined) throw new Error("the proxy is ours");
      for (let turn = 0; turn < 3; turn += 1) {
        await untilPooled(tunnel.proxy, 2);
        const consumers = await Promise.all(Array.from({ length: 60 }, () => connectTcp(tunnel.consumers.port)));
        await Promise.all(consumers.map((consumer, index) => consumer.send(`number ${index}`)));
        await Promise.all(consumers.map((consumer, index) => consumer.untilReceived(`number ${index}`.length)));
        expect(consumers.map((consumer) => consumer.text())).toEqual(consumers.map((_, index) => `number ${index}`));
        for (const consumer of consumers) consumer.finish();
        await Promise.all(consumers.map((consumer) => consumer.untilClosed()));
      }
      expect((await metricsOf(tunnel.proxy)).sum("netaminity_sessions_opened_total")).toBe(1);
    });

    test.each(["proxy", "target"] as const)("a drain of the %s lets a running stream end as it likes", async (side) => {
      await using backend = await listenTcp();
      await using tunnel = await kind.open({ backend });
      await using consumer = await connectTcp(tunnel.consumers.port);
      await consumer.send("before");
      const server = await backend.accept();
      await server.untilReceived(6);
      tunnel[side]?.process?.signal("SIGTERM");
      await tunnel[side]?.log.first("draining");
      await consumer.send(" and after");
      await server.untilReceived(16);
      await server.send("the whole answer");
      server.finish();
      await consumer.untilFin();
      consumer.finish();
      await consumer.untilClosed();
      expect({ text: consumer.text(), reset: consumer.reset }).toEqual({ text: "the whole answer", reset: undefined });
      expect(await tunnel[side]?.process?.exited()).toBe(0);
    });
  });

  test(`consumers of a former proxy ${proxies.name} are served through the next one, ${targets.name}`, async () => {
    await using backend = await listenEcho();
    await using older = await proxies.startProxy();
    await using relay = await startRelay(older.rendezvous);
    await using target = await compiled.startTarget({ proxy: relay, backend });
    await untilReady(older);
    await using newer = await targets.startProxy();
    relay.leadTo(newer.rendezvous);
    await untilMetric(target, "netaminity_sessions", {}, (count) => count === 2, 20_000);
    const consumers = await Promise.all(Array.from({ length: 20 }, () => connectTcp(older.consumers.port)));
    for (const consumer of consumers) await consumer.send("hello");
    for (const consumer of consumers) await consumer.untilReceived(5);
    for (const consumer of consumers) consumer.finish();
    for (const consumer of consumers) await consumer.untilClosed();
    expect(consumers.map(({ reset }) => reset)).toEqual(consumers.map(() => undefined));
  });
}

test("a target that requires encryption says that an older proxy does not offer it", async () => {
  await using backend = await listenEcho();
  await using proxy = await old.startProxy();
  await using target = await compiled.startTarget({ proxy: proxy.rendezvous, backend, encryption: "required" });
  expect((await target.log.first("no session")).fields.reason).toContain("does not offer encryption");
});

test("a proxy that requires encryption refuses an older target", async () => {
  await using backend = await listenEcho();
  await using proxy = await compiled.startProxy({ encryption: "required" });
  await using target = await old.startTarget({ proxy: proxy.rendezvous, backend });
  expect((await target.log.first("the proxy refused the session")).fields.reason).toContain("encryption is required");
  expect((await metricsOf(proxy)).sum("netaminity_sessions_opened_total")).toBe(0);
});
