import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { TcpSocket } from "../support/tcp.ts";
import { connectTcp, listenEcho } from "../support/tcp-ends.ts";
import { eventually } from "../support/tcp-wait.ts";
import { ask, type Implementation, metricsOf, type RunningRole, untilMetric, untilReady } from "../support/tunnel.ts";
import { compiled, compiledWith } from "../support/tunnel-compiled.ts";

setDefaultTimeout(60_000);

const limitedTo = (descriptors: number) =>
  compiledWith((command) => ["/bin/sh", "-c", `ulimit -n ${descriptors}; exec "$@"`, "sh", ...command]);
const few = limitedTo(200);

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

/** Waits until a role is ready or says that it may open too few files; a session takes a moment, a shortage is known before. */
async function readiness(role: RunningRole): Promise<string> {
  let last = "";
  await eventually(
    async () => {
      last = (await ask(role, "/readyz")).body;
      return last === "ready" || last.startsWith("open files are limited");
    },
    () => `the role is ready or short of descriptors: ${last}`,
  );
  return last;
}

async function isServed(port: number): Promise<boolean> {
  // A reset may meet the connection before it is seen to be open.
  const consumer = await connectTcp(port).catch(() => undefined);
  if (consumer === undefined) return false;
  await using _ = consumer;
  consumer.send("x").catch(() => {});
  await consumer.until((one) => one.received > 0 || one.closed, "the consumer is served or reset", 15_000);
  return consumer.received > 0;
}

describe("a role that may open few files serves consumers, or says that it cannot", () => {
  const cases: ["proxy" | "target", number, "ready" | "short"][] = [
    ["proxy", 32, "short"],
    ["proxy", 38, "short"],
    ["proxy", 52, "ready"],
    ["proxy", 64, "ready"],
    ["target", 26, "ready"],
    ["target", 32, "ready"],
  ];
  test.each(cases)("a %s with %i is %s", async (side, limit, outcome) => {
    await using backend = await listenEcho();
    await using proxy = await (side === "proxy" ? limitedTo(limit) : compiled).startProxy();
    const targetSide = side === "target" ? limitedTo(limit) : compiled;
    await using target = await targetSide.startTarget({ proxy: proxy.rendezvous, backend });
    const reason = await readiness(side === "proxy" ? proxy : target);
    await untilReady(side === "proxy" ? target : proxy);
    expect([reason === "ready" ? "ready" : "short", await isServed(proxy.consumers.port)]).toEqual([
      outcome,
      outcome === "ready",
    ]);
  });

  test.each(["proxy", "target"])(
    "a %s with too few for a session says that, and not that it has none",
    async (side) => {
      const { startProxy, startTarget } = limitedTo(16);
      const nowhere = { host: "127.0.0.1", port: 1 };
      await using role =
        side === "proxy" ? await startProxy() : await startTarget({ proxy: nowhere, backend: nowhere });
      const reason = await readiness(role);
      const [, enough] =
        /^open files are limited to 16, and serving a consumer takes (\d+) \(ulimit -n, LimitNOFILE\)$/.exec(reason) ??
        [];
      expect(Number(enough), reason).toBeGreaterThan(16);
    },
  );
});

test("descriptors that go elsewhere after the start count: a proxy left with too few says so, and is ready when they are back", async () => {
  await using backend = await listenEcho();
  await using proxy = await limitedTo(64).startProxy();
  await using target = await compiled.startTarget({ proxy: proxy.rendezvous, backend });
  await untilReady(proxy);
  {
    await using stack = new AsyncDisposableStack();
    // Idle connections to the health port are no wires.
    for (let count = 0; count < 30; count += 1) stack.use(await connectTcp(proxy.health.port));
    await eventually(
      async () => (await ask(proxy, "/readyz")).body.startsWith("open files are limited to 64"),
      "the proxy is short of descriptors",
    );
  }
  await untilReady(proxy);
  await untilReady(target);
});
