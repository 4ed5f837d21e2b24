import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { startRelay } from "../support/relay.ts";
import { listenEcho, listenTcp } from "../support/tcp-ends.ts";
import { ask, goodSecret, type Implementation, metricsOf, untilMetric, untilReady } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import {
  boreAnswer,
  connectPeer,
  contentOf,
  encodeFrame,
  type Frame,
  framesOf,
  peerOn,
} from "../support/tunnel-peer.ts";
import { openRelayed, untilPooled } from "../support/tunnel-relayed.ts";

setDefaultTimeout(60_000);

/** Everything that a target sent and got on each of its connections, as frames. */
function listen(relay: { tap: unknown; links: readonly object[] }) {
  const heard = new Map<object, { up: Buffer[]; down: Buffer[] }>();
  relay.tap = (link: object, direction: "up" | "down", chunk: Uint8Array) => {
    const parts = heard.get(link) ?? { up: [], down: [] };
    parts[direction].push(Buffer.from(chunk));
    heard.set(link, parts);
  };
  return (index: number) => {
    const parts = heard.get(relay.links[index] ?? {}) ?? { up: [], down: [] };
    return { up: framesOf(Buffer.concat(parts.up)), down: framesOf(Buffer.concat(parts.down)) };
  };
}

/** Opens a tunnel over a relay that records what passes from the first byte on. */
async function recorded(implementation: Implementation) {
  await using stack = new AsyncDisposableStack();
  const backend = stack.use(await listenEcho());
  const proxy = stack.use(await implementation.startProxy());
  const relay = stack.use(await startRelay(proxy.rendezvous));
  const frames = listen(relay);
  const target = stack.use(await implementation.startTarget({ proxy: relay, backend }));
  await untilReady(proxy);
  await untilPooled(proxy, 2);
  const owned = stack.move();
  return { proxy, target, frames, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function first(frames: Frame[], name: string): Frame {
  const frame = frames.find((one) => typeof one !== "string" && name in one);
  if (frame === undefined) throw new Error(`no ${name} among ${JSON.stringify(frames)}`);
  return frame;
}

function impostorsAtTheProxy(implementation: Implementation): void {
  test("a recorded attachment is worth nothing on another connection", async () => {
    await using tunnel = await recorded(implementation);
    await using thief = await connectPeer(tunnel.proxy.rendezvous);
    await thief.heard(0);
    await thief.say(first(tunnel.frames(0).up, "Attach"));
    await thief.socket.until((socket) => socket.fin || socket.closed, "the thief is turned away");
    await untilMetric(tunnel.proxy, "netaminity_auth_failures_total", {}, (count) => count === 1);
    expect((await metricsOf(tunnel.proxy)).sum("netaminity_sessions")).toBe(1);
  });

  test("a recorded data connection is worth nothing a second time", async () => {
    await using tunnel = await recorded(implementation);
    const before = (await metricsOf(tunnel.proxy)).sum("netaminity_pool_idle");
    await using thief = await connectPeer(tunnel.proxy.rendezvous);
    await thief.heard(0);
    await thief.say(first(tunnel.frames(1).up, "Join"));
    await thief.socket.until((socket) => socket.fin || socket.closed, "the thief is turned away");
    expect((await metricsOf(tunnel.proxy)).sum("netaminity_pool_idle")).toBe(before);
  });

  test("a data connection with another number needs another proof", async () => {
    await using tunnel = await recorded(implementation);
    const join = contentOf(first(tunnel.frames(1).up, "Join"), "Join") as Record<string, unknown>;
    await using thief = await connectPeer(tunnel.proxy.rendezvous);
    await thief.heard(0);
    await thief.say({ Join: { ...join, number: 1_000_000 } });
    await thief.socket.until((socket) => socket.fin || socket.closed, "the thief is turned away");
    expect(framesOf(thief.socket.bytes()).some((frame) => typeof frame !== "string" && "Joined" in frame)).toBe(false);
  });

  test("a proxy's own answer does not open anything when it is sent back", async () => {
    await using tunnel = await recorded(implementation);
    const { proof } = contentOf(first(tunnel.frames(0).down, "Attached"), "Attached") as { proof: string };
    const attach = contentOf(first(tunnel.frames(0).up, "Attach"), "Attach") as Record<string, unknown>;
    await using thief = await connectPeer(tunnel.proxy.rendezvous);
    await thief.heard(0);
    await thief.say({ Attach: { ...attach, proof } });
    await thief.socket.until((socket) => socket.fin || socket.closed, "the thief is turned away");
    expect((await metricsOf(tunnel.proxy)).sum("netaminity_sessions")).toBe(1);
  });

  test("no message of a stranger but a proof opens anything", async () => {
    await using proxy = await implementation.startProxy();
    const attempts: Frame[] = [
      { Hello: 0 },
      { Accept: "01234567-89ab-4def-8123-456789abcdef" },
      { Open: 3 },
      "Started",
      "Drain",
      { Ping: 1 },
    ];
    for (const attempt of attempts) {
      await using stranger = await connectPeer(proxy.rendezvous);
      await stranger.heard(0);
      await stranger.say(attempt);
      await stranger.socket.until((socket) => socket.fin || socket.closed, `${JSON.stringify(attempt)} is turned away`);
      const told = framesOf(stranger.socket.bytes()).slice(1);
      expect(told.filter((frame) => typeof frame === "string" || !("Error" in frame))).toEqual([]);
    }
    expect((await metricsOf(proxy)).sum("netaminity_sessions_opened_total")).toBe(0);
  });

  test("a client of bore's protocol is served without any message of the extension", async () => {
    await using proxy = await implementation.startProxy();
    await using client = await connectPeer(proxy.rendezvous);
    const challenge = contentOf(await client.heard(0), "Challenge");
    expect(String(challenge)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    await client.socket.send(
      Buffer.concat([encodeFrame({ Authenticate: boreAnswer(goodSecret, challenge) }), encodeFrame({ Hello: 0 })]),
    );
    expect(await client.heard(1)).toEqual({ Hello: proxy.consumers.port });
    expect([await client.heard(2), await client.heard(3), await client.heard(4)]).toEqual([
      "Heartbeat",
      "Heartbeat",
      "Heartbeat",
    ]);
    await untilReady(proxy);
  });

  test("challenges do not repeat", async () => {
    await using proxy = await implementation.startProxy();
    const seen = new Set<unknown>();
    for (let count = 0; count < 200; count += 1) {
      await using stranger = await connectPeer(proxy.rendezvous);
      seen.add(contentOf(await stranger.heard(0), "Challenge"));
    }
    expect(seen.size).toBe(200);
  });
}

function impostorsAtTheTarget(implementation: Implementation): void {
  /** Plays a proxy that does not know the secret: `answer` makes its reply from what the target sent. */
  async function impostor(answer: (attach: Record<string, unknown>) => Frame) {
    await using genuine = await implementation.startProxy();
    await using probe = await connectPeer(genuine.rendezvous);
    const challenge = await probe.heard(0);
    await using fake = await listenTcp();
    await using backend = await listenTcp();
    await using target = await implementation.startTarget({ proxy: fake, backend });
    const peer = peerOn(await fake.accept());
    await peer.say(challenge);
    const attach = contentOf(await peer.heard(0), "Attach") as Record<string, unknown>;
    await peer.say(answer(attach));
    await untilMetric(target, "netaminity_reconnects_total", {}, (count) => count >= 1);
    expect({ ready: (await ask(target, "/readyz")).status, backends: backend.sockets.length }).toEqual({
      ready: 503,
      backends: 0,
    });
    expect((await metricsOf(target)).sum("netaminity_sessions_opened_total")).toBe(0);
    // The target must not have told anything that the secret could be guessed from more easily than by its proofs.
    expect(peer.socket.text()).not.toContain(createHash("sha256").update(goodSecret).digest("hex"));
  }

  test("a target does not attach to a proxy that cannot prove the secret", () =>
    impostor(() => ({ Attached: { session: "00".repeat(16), proof: "00".repeat(32) } })));

  test("a target does not attach to a proxy that sends the target's own proof back", () =>
    impostor((attach) => ({ Attached: { session: "00".repeat(16), proof: attach.proof } })));

  test("a target survives a proxy that talks nonsense, and keeps trying", async () => {
    await using fake = await listenTcp({
      onOpen: (socket) => void socket.send("HTTP/1.1 400 Bad Request\r\n\r\n").catch(() => {}),
    });
    await using backend = await listenTcp();
    await using target = await implementation.startTarget({ proxy: fake, backend });
    await untilMetric(target, "netaminity_reconnects_total", {}, (count) => count >= 2, 15_000);
    expect((await ask(target, "/healthz")).status).toBe(200);
  });

  test("a target gives up on a proxy that accepts and says nothing, and keeps trying", async () => {
    await using fake = await listenTcp();
    await using backend = await listenTcp();
    await using target = await implementation.startTarget({ proxy: fake, backend, deadline: 500 });
    await untilMetric(target, "netaminity_reconnects_total", {}, (count) => count >= 2, 20_000);
    expect(fake.sockets.length).toBeGreaterThan(1);
    await fake.sockets[0]?.until((socket) => socket.fin || socket.closed, "the first attempt is let go");
  });

  /** Version 4, as bore's server makes them; and of our form, but of a revision that nobody knows yet. */
  const foreign = [
    ["a bore server", "3f1d9e7a-52c4-4b6e-9a01-7c2d8e5f6a90", "--bore-port"],
    ["something newer", "6e6d0900-52c4-8b6e-9a01-7c2d8e5f6a90", "does not know"],
  ] as const;
  for (const [what, challenge, told] of foreign) {
    test(`a target without --bore-port sends nothing at all to a stranger that plays ${what}, and says so`, async () => {
      const hello = Buffer.concat([encodeFrame({ Challenge: challenge }), encodeFrame({ Hello: 4321 })]);
      await using fake = await listenTcp({ onOpen: (socket) => void socket.send(hello).catch(() => {}) });
      await using backend = await listenTcp({ onOpen: (socket) => void socket.send("secret data").catch(() => {}) });
      await using target = await implementation.startTarget({ proxy: fake, backend });
      await untilMetric(target, "netaminity_reconnects_total", { reason: "handshake" }, (count) => count >= 2, 15_000);
      const { status, body } = await ask(target, "/readyz");
      expect({ status, sent: fake.sockets.map((socket) => socket.text()).join("") }).toEqual({ status: 503, sent: "" });
      expect(body).toContain("no netaminity proxy");
      expect(body).toContain(told);
      expect(target.log.all("no session")[0]?.fields.reason).toContain(told);
      expect({ backends: backend.sockets.length }).toEqual({ backends: 0 });
    });
  }

  test("a target that speaks bore signs no challenge of a netaminity proxy for a consumer of a bore server", async () => {
    await using genuine = await implementation.startProxy();
    await using probe = await connectPeer(genuine.rendezvous);
    const relayed = await probe.heard(0);
    await using fake = await listenTcp();
    await using backend = await listenTcp();
    await using target = await implementation.startTarget({ proxy: fake, backend, borePort: 0 });
    const control = peerOn(await fake.accept());
    await control.say({ Challenge: "3f1d9e7a-52c4-4b6e-9a01-7c2d8e5f6a90" });
    await control.heard(1);
    await control.say({ Hello: 4321 });
    await control.say({ Connection: "01234567-89ab-4def-8123-456789abcdef" });
    const thief = peerOn(await fake.accept());
    await thief.say(relayed);
    await thief.socket.untilReset();
    expect(thief.socket.text()).toBe("");
    await untilReady(target);
  });

  test("a target offers a stock bore server nothing but bore's messages", async () => {
    await using fake = await listenTcp();
    await using backend = await listenTcp();
    await using target = await implementation.startTarget({ proxy: fake, backend, borePort: 4321 });
    const peer = peerOn(await fake.accept());
    // Version 4: another program than ours.
    const challenge = "3f1d9e7a-52c4-4b6e-9a01-7c2d8e5f6a90";
    await peer.say({ Challenge: challenge });
    expect(await peer.heard(0)).toEqual({ Authenticate: boreAnswer(goodSecret, challenge) });
    expect(await peer.heard(1)).toEqual({ Hello: 4321 });
    await peer.say({ Hello: 4321 });
    await peer.say("Heartbeat");
    await untilReady(target);
    expect(framesOf(peer.socket.bytes()).length).toBe(2);
  });
}

for (const implementation of [inProcess, compiled]) {
  describe(`strangers at the proxy ${implementation.name}`, () => impostorsAtTheProxy(implementation));
  describe(`strangers at the target ${implementation.name}`, () => impostorsAtTheTarget(implementation));
}

test("one target's session cannot be joined with another session's proof", async () => {
  await using one = await openRelayed(inProcess);
  await using other = await recorded(inProcess);
  const join = contentOf(first(other.frames(1).up, "Join"), "Join") as Record<string, unknown>;
  await using thief = await connectPeer(one.proxy.rendezvous);
  await thief.heard(0);
  await thief.say({ Join: join });
  await thief.socket.until((socket) => socket.fin || socket.closed, "the thief is turned away");
  expect((await metricsOf(one.proxy)).sum("netaminity_sessions")).toBe(1);
});
