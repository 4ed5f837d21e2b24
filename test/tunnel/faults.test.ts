import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { startRelay } from "../support/relay.ts";
import type { TcpSocket } from "../support/tcp.ts";
import { connectTcp, listenEcho, listenTcp } from "../support/tcp-ends.ts";
import { type Implementation, type RunningRole, untilReady, untilUnready } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { isTurnedAway } from "../support/tunnel-rig.ts";

setDefaultTimeout(60_000);

const deadline = 700;

function signal(role: RunningRole, name: NodeJS.Signals): void {
  if (role.process === undefined) throw new Error("the role is no process of its own");
  role.process.signal(name);
}

/** Sends a message through an echo stream and waits for it to come back. */
async function echoes(socket: TcpSocket, message: string): Promise<void> {
  const before = socket.received;
  await socket.send(message);
  await socket.untilReceived(before + message.length);
  expect(socket.text().slice(before)).toBe(message);
}

async function opensAndEchoes(port: number): Promise<void> {
  await using consumer = await connectTcp(port);
  await echoes(consumer, "ping");
}

describe("processes that die or stop", () => {
  test("after kill -9 of the target its streams are reset, the proxy is unready, and a new target serves again", async () => {
    await using backend = await listenEcho();
    await using proxy = await compiled.startProxy({ deadline });
    const target = await compiled.startTarget({ proxy: proxy.rendezvous, backend, deadline });
    await untilReady(proxy);
    await using running = await connectTcp(proxy.consumers.port);
    await echoes(running, "before");
    signal(target, "SIGKILL");
    // A reset and no FIN: a cut answer must not look complete.
    await running.untilReset();
    await backend.sockets[0]?.untilReset();
    await untilUnready(proxy);
    await using next = await compiled.startTarget({ proxy: proxy.rendezvous, backend, deadline });
    await untilReady(next);
    await untilReady(proxy);
    await opensAndEchoes(proxy.consumers.port);
    await target[Symbol.asyncDispose]();
  });

  test("after kill -9 of the proxy the target is unready, its streams are reset, and it attaches to the next proxy", async () => {
    await using backend = await listenEcho();
    const proxy = await compiled.startProxy({ deadline });
    await using target = await compiled.startTarget({ proxy: proxy.rendezvous, backend, deadline });
    await untilReady(target);
    await untilReady(proxy);
    await using running = await connectTcp(proxy.consumers.port);
    await echoes(running, "before");
    const [served] = backend.sockets;
    signal(proxy, "SIGKILL");
    await Promise.all([running.untilReset(), served?.untilReset()]);
    await untilUnready(target);
    await using next = await compiled.startProxy({ deadline, rendezvousPort: proxy.rendezvous.port });
    await untilReady(target, 20_000);
    await untilReady(next);
    await opensAndEchoes(next.consumers.port);
    await proxy[Symbol.asyncDispose]();
  });

  test("a stopped target makes the proxy unready and its consumers fail at once; it is used again when it goes on", async () => {
    await using backend = await listenEcho();
    await using proxy = await compiled.startProxy({ deadline });
    await using target = await compiled.startTarget({ proxy: proxy.rendezvous, backend, deadline });
    await untilReady(proxy);
    signal(target, "SIGSTOP");
    await untilUnready(proxy);
    await isTurnedAway(proxy.consumers);
    signal(target, "SIGCONT");
    await untilReady(proxy, 20_000);
    await opensAndEchoes(proxy.consumers.port);
  });

  test("a consumer that comes while the target has stopped, but is not yet known to, is never left hanging", async () => {
    await using backend = await listenEcho();
    await using proxy = await compiled.startProxy({ deadline });
    await using target = await compiled.startTarget({ proxy: proxy.rendezvous, backend, deadline });
    await untilReady(proxy);
    signal(target, "SIGSTOP");
    const consumers = await Promise.all(Array.from({ length: 10 }, () => connectTcp(proxy.consumers.port)));
    for (const consumer of consumers) await consumer.untilReset();
    signal(target, "SIGCONT");
  });

  test("a stopped proxy makes the target unready; both go on afterwards", async () => {
    await using backend = await listenEcho();
    await using proxy = await compiled.startProxy({ deadline });
    await using target = await compiled.startTarget({ proxy: proxy.rendezvous, backend, deadline });
    await untilReady(target);
    signal(proxy, "SIGSTOP");
    await untilUnready(target);
    signal(proxy, "SIGCONT");
    await untilReady(target, 20_000);
    await untilReady(proxy);
    await opensAndEchoes(proxy.consumers.port);
  });
});

async function relayed(implementation: Implementation) {
  await using stack = new AsyncDisposableStack();
  const backend = stack.use(await listenEcho());
  const proxy = stack.use(await implementation.startProxy({ deadline }));
  const relay = stack.use(await startRelay(proxy.rendezvous));
  const target = stack.use(await implementation.startTarget({ proxy: relay, backend, deadline }));
  await untilReady(target);
  await untilReady(proxy);
  const owned = stack.move();
  return { backend, proxy, relay, target, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function brokenLinks(implementation: Implementation): void {
  test("both sides notice a link that has gone silent, and meet again when it forwards", async () => {
    await using rig = await relayed(implementation);
    rig.relay.freeze();
    await Promise.all([untilUnready(rig.proxy), untilUnready(rig.target)]);
    rig.relay.thaw();
    await Promise.all([untilReady(rig.proxy, 20_000), untilReady(rig.target, 20_000)]);
    await opensAndEchoes(rig.proxy.consumers.port);
  });

  test("a stream outlives a silence of the link that is longer than the deadline", async () => {
    await using rig = await relayed(implementation);
    await using consumer = await connectTcp(rig.proxy.consumers.port);
    await echoes(consumer, "before");
    rig.relay.freeze();
    await untilUnready(rig.proxy);
    await consumer.send("during");
    rig.relay.thaw();
    await consumer.untilReceived(12);
    await echoes(consumer, "after");
    expect(consumer.text()).toBe("beforeduringafter");
  });

  test("a link that resets everything resets the streams on both ends, and the session comes back", async () => {
    await using rig = await relayed(implementation);
    await using consumer = await connectTcp(rig.proxy.consumers.port);
    await echoes(consumer, "before");
    rig.relay.resetAll();
    await consumer.untilReset();
    await rig.backend.sockets[0]?.untilReset();
    await untilReady(rig.target, 20_000);
    await untilReady(rig.proxy);
    await opensAndEchoes(rig.proxy.consumers.port);
  });

  test("a newer session takes new consumers while a stream of the older one goes on", async () => {
    await using older = await listenTcp({ onOpen: (socket) => void socket.send("older") });
    await using newer = await listenTcp({ onOpen: (socket) => void socket.send("newer") });
    await using proxy = await implementation.startProxy({ deadline });
    await using first = await implementation.startTarget({ proxy: proxy.rendezvous, backend: older, deadline });
    await untilReady(first);
    await untilReady(proxy);
    await using running = await connectTcp(proxy.consumers.port);
    await running.untilReceived(5);
    await using second = await implementation.startTarget({ proxy: proxy.rendezvous, backend: newer, deadline });
    await untilReady(second);
    // The first target stays and carries one stream more, so whichever rule the proxy follows, the second one is next.
    await using next = await connectTcp(proxy.consumers.port);
    await next.untilReceived(5);
    expect(next.text()).toBe("newer");
    await running.send("still here");
    await older.sockets[0]?.untilReceived(10);
    expect(older.sockets[0]?.text()).toBe("still here");
  });
}

for (const implementation of [inProcess, compiled]) {
  describe(`links that break, ${implementation.name}`, () => brokenLinks(implementation));
}
