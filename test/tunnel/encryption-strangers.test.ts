import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { parseUuid } from "../../src/agent/protocol/challenge.ts";
import {
  attachedProof,
  attachProof,
  bound,
  checkProof,
  joinProof,
  keyOf,
  matches,
  serveProof,
  sessionKey,
  toHex,
} from "../../src/agent/protocol/proofs.ts";
import { startHttpProxy } from "../support/http-proxy.ts";
import { startInterceptor } from "../support/interceptor.ts";
import { connectSecurely, type SecurePeer } from "../support/secure-peer.ts";
import { connectTcp, listenEcho, listenTcp } from "../support/tcp-ends.ts";
import { ask, goodSecret, metricsOf, untilMetric, untilReady } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { boreAnswer, connectPeer, contentOf, type Frame } from "../support/tunnel-peer.ts";

setDefaultTimeout(60_000);

const nonce = "01".repeat(16);
const name = "02".repeat(16);
const invalid: Frame = { Error: "invalid secret" };

describe("somebody in between who decrypts on both sides of himself", () => {
  test("opens no session: neither proof fits, and the target says what may be wrong", async () => {
    await using backend = await listenTcp();
    await using proxy = await inProcess.startProxy();
    await using interceptor = await startInterceptor(proxy.rendezvous);
    await using target = await inProcess.startTarget({ proxy: interceptor, backend, encryption: "required" });
    const { fields } = await target.log.first("the proxy refused the session");
    // He is in: what refuses him is the binding and nothing else.
    expect(interceptor.opened).toBeGreaterThan(0);
    expect(interceptor.read.up).toContain('"Attach"');
    expect(interceptor.read.down).toContain("invalid secret");
    expect(fields.reason).toContain("the connection is intercepted");
    const metrics = await metricsOf(proxy);
    expect([metrics.sum("netaminity_sessions_opened_total"), (await ask(target, "/readyz")).status]).toEqual([0, 503]);
    expect(metrics.sum("netaminity_auth_failures_total")).toBeGreaterThan(0);
  });

  test("gets no data connection into the pool of a session that he let pass", async () => {
    await using backend = await listenTcp();
    await using proxy = await inProcess.startProxy({ deadline: 1000 });
    await using interceptor = await startInterceptor(proxy.rendezvous, 1);
    // The target cannot go around him: the only way out leads to him.
    await using way = await startHttpProxy({ onlyPort: interceptor.port });
    await using target = await inProcess.startTarget({
      proxy: interceptor,
      via: `http://127.0.0.1:${way.port}`,
      backend,
      encryption: "required",
      deadline: 1000,
    });
    await untilReady(proxy);
    await untilReady(target);
    await using consumer = await connectTcp(proxy.consumers.port);
    await consumer.send("precious");
    await consumer.untilReset();
    expect(interceptor.read.up).toContain('"Join"');
    expect(interceptor.read.down).toContain("unknown session");
    expect(interceptor.read.up + interceptor.read.down).not.toContain("precious");
    expect([(await metricsOf(proxy)).sum("netaminity_pool_idle"), backend.sockets.length]).toEqual([0, 0]);
  });
});

/** Opens a session by hand. */
async function attachTo(peer: SecurePeer, key = keyOf(goodSecret)) {
  const challenge = parseUuid(String(contentOf(await peer.heard(0), "Challenge")));
  const own = bound(key, peer.wire.binding);
  const attach: Frame = { Attach: { target: name, nonce, proof: toHex(attachProof(own, challenge, nonce, name)) } };
  peer.say(attach);
  const { session, proof } = contentOf(await peer.heard(1), "Attached") as { session: string; proof: string };
  expect(matches(attachedProof(own, challenge, nonce, session), proof)).toBe(true);
  return { attach, session, key: sessionKey(own, challenge, nonce, session) };
}

describe("inside TLS, too, each connection proves the secret anew:", () => {
  test("a recorded attachment is refused on another connection", async () => {
    await using proxy = await inProcess.startProxy();
    await using first = await connectSecurely(proxy.rendezvous);
    const { attach } = await attachTo(first);
    await using second = await connectSecurely(proxy.rendezvous);
    await second.heard(0);
    second.say(attach);
    expect((await second.farewell()).slice(1)).toEqual([invalid]);
  });

  test("a proof without the binding, or with another one, is refused", async () => {
    await using proxy = await inProcess.startProxy();
    for (const binding of [new Uint8Array(0), new Uint8Array(32).fill(7)]) {
      await using peer = await connectSecurely(proxy.rendezvous);
      const challenge = parseUuid(String(contentOf(await peer.heard(0), "Challenge")));
      const proof = toHex(attachProof(bound(keyOf(goodSecret), binding), challenge, nonce, name));
      peer.say({ Attach: { target: name, nonce, proof } });
      expect((await peer.farewell()).slice(1)).toEqual([invalid]);
    }
    expect((await metricsOf(proxy)).sum("netaminity_sessions_opened_total")).toBe(0);
  });

  test("the challenge from before TLS counts for nothing", async () => {
    await using proxy = await inProcess.startProxy();
    await using outside = await connectPeer(proxy.rendezvous);
    const challenge = parseUuid(String(contentOf(await outside.heard(0), "Challenge")));
    await using peer = await connectSecurely(proxy.rendezvous);
    await peer.heard(0);
    const proof = toHex(attachProof(bound(keyOf(goodSecret), peer.wire.binding), challenge, nonce, name));
    peer.say({ Attach: { target: name, nonce, proof } });
    expect((await peer.farewell()).slice(1)).toEqual([invalid]);
  });

  test("a recorded data connection is refused on another one, and so is a plain one", async () => {
    await using proxy = await inProcess.startProxy();
    await using control = await connectSecurely(proxy.rendezvous);
    const { session, key } = await attachTo(control);
    await using data = await connectSecurely(proxy.rendezvous);
    const proof = toHex(joinProof(bound(key, data.wire.binding), 2, 1));
    const join: Frame = { Join: { session, number: 1, proof, frames: true } };
    data.say(join);
    await untilMetric(proxy, "netaminity_pool_idle", {}, (idle) => idle === 1);
    await using thief = await connectSecurely(proxy.rendezvous);
    thief.say(join);
    expect((await thief.farewell()).at(-1)).toEqual({ Error: "unknown session" });
    await using plain = await connectPeer(proxy.rendezvous);
    await plain.say({ Join: { session, number: 2, proof: toHex(joinProof(key, 2, 2)), frames: true } });
    await plain.socket.untilFin();
    expect(plain.socket.text()).toContain("unknown session");
    expect((await metricsOf(proxy)).sum("netaminity_pool_idle")).toBe(1);
  });
});

describe("a proxy that requires encryption answers nothing plain but that it does,", () => {
  const required = { Error: "encryption is required: this proxy accepts nothing plain" };
  const key = keyOf(goodSecret);
  const [from, to] = ["192.0.2.1:1", "192.0.2.2:2"] as const;
  /** Each with a proof that would be good at a proxy that does not require it. */
  const words: [string, (challenge: Uint8Array, text: string) => Frame][] = [
    ["Attach", (c) => ({ Attach: { target: name, nonce, proof: toHex(attachProof(key, c, nonce, name)) } })],
    ["Check", (c) => ({ Check: { nonce, proof: toHex(checkProof(key, c, nonce)) } })],
    ["Serve", (c) => ({ Serve: { from, to, nonce, proof: toHex(serveProof(key, c, nonce, from, to)) } })],
    ["Authenticate", (_, text) => ({ Authenticate: boreAnswer(goodSecret, text) })],
    ["Hello", () => ({ Hello: 0 })],
    ["Accept", () => ({ Accept: "01234567-89ab-4def-8123-456789abcdef" })],
    ["Join", () => ({ Join: { session: nonce, number: 1, proof: "00".repeat(32) } })],
  ];
  test.each(words)("to %s", async (_, wordFor) => {
    await using proxy = await inProcess.startProxy({ encryption: "required" });
    await using peer = await connectPeer(proxy.rendezvous);
    const text = String(contentOf(await peer.heard(0), "Challenge"));
    await peer.say(wordFor(parseUuid(text), text));
    expect(await peer.heard(1)).toEqual(required);
    await peer.socket.untilFin();
    const metrics = await metricsOf(proxy);
    expect([metrics.sum("netaminity_sessions_opened_total"), metrics.sum("netaminity_streams_total")]).toEqual([0, 0]);
    expect(metrics.sum("netaminity_handshakes_dropped_total", { reason: "unencrypted" })).toBe(1);
  });
});

describe("peers that begin TLS and do not go on", () => {
  test("are given up after the time that any handshake has", async () => {
    await using proxy = await inProcess.startProxy();
    await using silent = await connectSecurely(proxy.rendezvous, "silent");
    const since = performance.now();
    await silent.farewell();
    expect(performance.now() - since).toBeLessThan(5000);
    await untilMetric(proxy, "netaminity_handshakes_dropped_total", {}, (count) => count === 1);
    expect((await metricsOf(proxy)).sum("netaminity_handshakes_pending")).toBe(0);
  });

  test("are turned away one by one when there are too many, and keep nobody from being served", async () => {
    await using proxy = await compiled.startProxy();
    await using backend = await listenEcho();
    const silent: SecurePeer[] = [];
    await using stack = new AsyncDisposableStack();
    for (let count = 0; count < 1200; count += 1)
      silent.push(stack.use(await connectSecurely(proxy.rendezvous, "silent")));
    expect((await metricsOf(proxy)).sum("netaminity_handshakes_pending")).toBeLessThanOrEqual(1024);
    await using target = await inProcess.startTarget({ proxy: proxy.rendezvous, backend, encryption: "required" });
    await untilReady(target);
    await using consumer = await connectTcp(proxy.consumers.port);
    await consumer.send("served all the same");
    await consumer.untilReceived(19);
    await Promise.all(silent.map((peer) => peer.farewell()));
    await untilMetric(proxy, "netaminity_handshakes_pending", {}, (pending) => pending === 0);
  });

  test("and send garbage instead are a malformed handshake, and harm nobody", async () => {
    await using proxy = await compiled.startProxy();
    for (const garbage of [
      "GET / HTTP/1.1\r\n\r\n",
      "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
      "\x16\x03\x01\xff\xff",
    ]) {
      await using peer = await connectPeer(proxy.rendezvous);
      await peer.say("StartTls");
      await peer.socket.until((socket) => socket.text().includes("StartTls"), "the answer comes");
      await peer.socket.send(Buffer.from(garbage, "latin1"));
      await peer.socket.untilClosed();
    }
    await using eager = await connectPeer(proxy.rendezvous);
    // A greeting of TLS right behind the word, before the answer to it.
    await eager.socket.send(Buffer.from('"StartTls"\0\x16\x03\x01', "latin1"));
    await eager.socket.untilClosed();
    await untilMetric(proxy, "netaminity_handshakes_dropped_total", { reason: "malformed" }, (count) => count >= 3);
    expect((await ask(proxy, "/healthz")).status).toBe(200);
  });
});
