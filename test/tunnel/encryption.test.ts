import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { examineByHand } from "../../src/doctor/examine-by-hand.ts";
import { ownLoopbackAddress, startBoreLocal, startBoreServer } from "../support/bore.ts";
import { startHttpProxy } from "../support/http-proxy.ts";
import { startRelay } from "../support/relay.ts";
import { connectTcp, listenEcho, listenTcp } from "../support/tcp-ends.ts";
import { eventually } from "../support/tcp-wait.ts";
import { ask, goodSecret, type Implementation, metricsOf, untilMetric, untilReady } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { encodeFrame, peerOn } from "../support/tunnel-peer.ts";
import { openRelayed, untilPooled } from "../support/tunnel-relayed.ts";

setDefaultTimeout(60_000);

const encryption = "required";
/** Of our form: from a proxy that knows no TLS, and from one that offers it. */
const older = "6e6d0101-52c4-8b6e-9a01-7c2d8e5f6a90";
const offering = "6e6d0105-52c4-8b6e-9a01-7c2d8e5f6a90";

async function echoes(port: number, text: string): Promise<void> {
  await using consumer = await connectTcp(port);
  await consumer.send(text);
  await consumer.untilReceived(text.length);
  consumer.finish();
  await consumer.untilFin();
  expect({ text: consumer.text(), reset: consumer.reset }).toEqual({ text, reset: undefined });
}

/** The target in this process asks for it; a compiled proxy leaves it to its targets. */
describe.each([inProcess, compiled])("an encrypted tunnel to the proxy $name", (implementation: Implementation) => {
  test("shows no byte of a stream and nothing made from the secret to whoever is in between, and says that it is encrypted", async () => {
    await using backend = await listenEcho();
    await using proxy = await implementation.startProxy();
    await using relay = await startRelay(proxy.rendezvous);
    const passed: Buffer[] = [];
    relay.tap = (_link, _direction, chunk) => void passed.push(Buffer.from(chunk));
    await using target = await inProcess.startTarget({ proxy: relay, backend, encryption });
    await untilReady(target);
    await untilReady(proxy);
    for (let turn = 0; turn < 10; turn += 1) await echoes(proxy.consumers.port, `precious ${turn}`);
    const seen = Buffer.concat(passed).toString("latin1");
    expect(seen.length).toBeGreaterThan(1000);
    for (const word of ["precious", "proof", "Attach", "Join", "session"]) expect(seen).not.toContain(word);
    for (const role of [proxy, target]) {
      expect((await role.log.first("session up")).fields.encrypted).toBe(true);
      expect((await metricsOf(role)).sum("netaminity_sessions_encrypted")).toBe(1);
    }
  });

  test("does not serve somebody whose secret is wrong, and says so", async () => {
    await using backend = await listenTcp();
    await using proxy = await implementation.startProxy();
    await using target = await inProcess.startTarget({
      proxy: proxy.rendezvous,
      backend,
      encryption,
      secrets: ["wrong"],
    });
    const { fields } = await target.log.first("the proxy refused the session");
    expect(fields.reason).toBe(
      "the proxy says: invalid secret, or the connection is intercepted: a wrong secret looks the same as somebody in between who decrypts",
    );
    await untilMetric(proxy, "netaminity_auth_failures_total", {}, (count) => count >= 1);
    expect((await metricsOf(proxy)).sum("netaminity_sessions_opened_total")).toBe(0);
  });

  test("leads through an HTTP proxy", async () => {
    await using http = await startHttpProxy();
    await using backend = await listenEcho();
    await using proxy = await implementation.startProxy();
    const via = `http://${http.host}:${http.port}`;
    await using target = await inProcess.startTarget({ proxy: proxy.rendezvous, via, backend, encryption });
    await untilReady(target);
    await untilReady(proxy);
    for (let turn = 0; turn < 5; turn += 1) await echoes(proxy.consumers.port, `detour ${turn}`);
    expect((await target.log.first("session up")).fields.encrypted).toBe(true);
  });

  test("is not needed: a plain target is served beside, and says that it is plain", async () => {
    await using backend = await listenEcho();
    await using proxy = await implementation.startProxy();
    await using _encrypted = await inProcess.startTarget({ proxy: proxy.rendezvous, backend, encryption });
    await using plain = await inProcess.startTarget({ proxy: proxy.rendezvous, backend });
    await untilMetric(proxy, "netaminity_sessions", {}, (count) => count === 2);
    expect((await metricsOf(proxy)).sum("netaminity_sessions_encrypted")).toBe(1);
    expect((await plain.log.first("session up")).fields.encrypted).toBe(false);
  });

  test("is what the doctor uses", async () => {
    await using proxy = await implementation.startProxy();
    await using relay = await startRelay(proxy.rendezvous);
    const passed: Buffer[] = [];
    relay.tap = (_link, _direction, chunk) => void passed.push(Buffer.from(chunk));
    const asked = (secret: string) => examineByHand({ proxyEndpoint: relay, endpoint: undefined, secret });
    expect((await asked(goodSecret)).proxy?.secret).toMatchObject({ gave: { objection: undefined } });
    expect((await asked("wrong")).proxy?.secret).toMatchObject({ gave: { objection: "invalid secret" } });
    expect(Buffer.concat(passed).toString("latin1")).not.toContain("proof");
  });
});

describe("a target that requires encryption", () => {
  /** Plays a proxy that says `hello` and answers every first message with `answer`; gives all that it was sent, and why the target is not ready. */
  async function strangerWith(hello: Buffer, answer: Buffer, borePort?: number) {
    await using fake = await listenTcp({
      onOpen: (socket) => void socket.send(hello).catch(() => {}),
      onData: (_chunk, socket) => void socket.send(answer).catch(() => {}),
    });
    await using backend = await listenTcp();
    const role = { proxy: fake, backend, encryption, ...(borePort !== undefined && { borePort }) } as const;
    await using target = await inProcess.startTarget(role);
    await untilMetric(target, "netaminity_reconnects_total", {}, (count) => count >= 2, 20_000);
    const { body } = await ask(target, "/readyz");
    expect(backend.sockets.length).toBe(0);
    // Two attempts are over; a third may just have come, and said nothing yet.
    return { sent: fake.sockets.slice(0, 2).map((socket) => socket.text()), body };
  }

  const nothing = Buffer.alloc(0);
  const challenge = (text: string) => encodeFrame({ Challenge: text });

  test("sends a proxy that does not offer it nothing, and says so", async () => {
    const { sent, body } = await strangerWith(challenge(older), nothing);
    expect(sent).toEqual(["", ""]);
    expect(body).toContain("the proxy does not offer encryption");
  });

  test("sends a bore server nothing, also where it is told to speak bore, and says so", async () => {
    const { sent, body } = await strangerWith(challenge("3f1d9e7a-52c4-4b6e-9a01-7c2d8e5f6a90"), nothing, 0);
    expect(sent).toEqual(["", ""]);
    expect(body).toContain("a bore server cannot encrypt");
    await using server = await startBoreServer();
    await using backend = await listenTcp();
    await using target = await inProcess.startTarget({ proxy: server.rendezvous, backend, borePort: 0, encryption });
    expect((await target.log.first("no session")).fields.reason).toBe("a bore server cannot encrypt");
  });

  test.each([
    ["goes on in plain text", encodeFrame("StartTls"), encodeFrame({ Challenge: offering })],
    ["answers otherwise", encodeFrame({ Challenge: offering }), nothing],
    ["puts plain bytes behind its word", Buffer.concat([encodeFrame("StartTls"), challenge(offering)]), nothing],
  ])("sends one that offers it and %s nothing but its word and what belongs to TLS", async (_, answer, later) => {
    const { sent } = await strangerWith(challenge(offering), Buffer.concat([answer, later]));
    expect(sent).toEqual(['"StartTls"\0', '"StartTls"\0']);
  });

  test("sends one that speaks no TLS behind its word nothing but a greeting of TLS", async () => {
    await using fake = await listenTcp({ onOpen: (socket) => void socket.send(challenge(offering)).catch(() => {}) });
    await using backend = await listenTcp();
    await using target = await inProcess.startTarget({ proxy: fake, backend, encryption });
    const peer = peerOn(await fake.accept());
    expect(await peer.heard(0)).toBe("StartTls");
    await peer.say("StartTls");
    await peer.socket.until((socket) => socket.received > 11, "TLS begins");
    await peer.say({ Challenge: offering });
    await peer.socket.untilClosed();
    const { fields } = await target.log.first("no session");
    expect(fields.reason).toContain("TLS with the proxy failed");
    expect(peer.socket.text()).not.toContain("Attach");
  });

  test("looks where its endpoint leads without encrypting that, and moves inside TLS alone", async () => {
    await using backend = await listenEcho();
    await using tunnel = await openRelayed(inProcess, {}, { encryption, deadline: 2000 });
    const passed: Buffer[] = [];
    tunnel.relay.tap = (_link, direction, chunk) => direction === "up" && void passed.push(Buffer.from(chunk));
    await using next = await inProcess.startProxy({ encryption });
    tunnel.relay.leadTo(next.rendezvous);
    await untilMetric(next, "netaminity_sessions_encrypted", {}, (count) => count === 1, 20_000);
    await untilPooled(next, 1);
    expect(Buffer.concat(passed).toString("latin1")).not.toContain("proof");
    expect(backend.sockets.length).toBe(0);
    // Consumers of the former proxy get there through the next one, which accepts nothing plain.
    await untilMetric(tunnel.proxy, "netaminity_pool_idle", {}, (idle) => idle >= 0);
    const consumers = await Promise.all(Array.from({ length: 30 }, () => tunnel.connect()));
    await Promise.all(consumers.map((consumer) => consumer.send("hello")));
    const served = () => tunnel.backend.sockets.filter((socket) => socket.text() === "hello").length;
    await eventually(() => served() === 30, "all consumers are served");
    expect((await metricsOf(next)).sum("netaminity_streams_open")).toBeGreaterThan(0);
  });
});

describe("a proxy that requires encryption", () => {
  test("refuses a real bore client, which says why", async () => {
    const host = ownLoopbackAddress();
    await using proxy = await inProcess.startProxy({ host, rendezvousPort: 7835, encryption });
    await using backend = await listenEcho();
    await using bore = await startBoreLocal(host, backend);
    await bore.exited(10_000);
    expect(bore.log.text()).toContain("encryption is required");
    await untilMetric(proxy, "netaminity_handshakes_dropped_total", { reason: "unencrypted" }, (count) => count === 1);
    const metrics = await metricsOf(proxy);
    expect([metrics.sum("netaminity_sessions_opened_total"), metrics.sum("netaminity_auth_failures_total")]).toEqual([
      0, 0,
    ]);
  });

  test("gets nothing from a target that has it off, which says why", async () => {
    await using proxy = await inProcess.startProxy({ encryption });
    await using relay = await startRelay(proxy.rendezvous);
    let sent = 0;
    relay.tap = (_link, direction, chunk) => {
      if (direction === "up") sent += chunk.byteLength;
    };
    await using backend = await listenTcp();
    await using target = await inProcess.startTarget({ proxy: relay, backend });
    expect((await target.log.first("no session")).fields.reason).toBe(
      "the proxy requires encryption, which is off here",
    );
    expect(sent).toBe(0);
  });

  test("tells the doctor whether the secret is right", async () => {
    await using proxy = await inProcess.startProxy({ encryption });
    const facts = await examineByHand({ proxyEndpoint: proxy.rendezvous, endpoint: undefined, secret: goodSecret });
    expect(facts.proxy?.secret).toMatchObject({ gave: { objection: undefined } });
  });
});
