/** What the doctor finds out by hand, from the proxies that a target may meet. */
import { expect, test } from "bun:test";
import { examineByHand } from "../../src/doctor/examine-by-hand.ts";
import type { HostPort } from "../../src/endpoint.ts";
import { startBoreServer } from "../support/bore.ts";
import { startRelay } from "../support/relay.ts";
import { listenTcp } from "../support/tcp-ends.ts";
import { goodSecret, metricsOf } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { connectPeer, contentOf, encodeFrame, peerOn } from "../support/tunnel-peer.ts";

/** What the steps gave, or `failed`. */
async function stepsAt(proxyEndpoint: HostPort, secret: string) {
  const { proxy } = await examineByHand({ proxyEndpoint, endpoint: undefined, secret });
  const { protocol, secret: shown } = proxy ?? {};
  return [
    protocol === undefined ? "not tried" : "gave" in protocol ? "netaminity" : protocol.failed,
    shown === undefined ? "not tried" : "gave" in shown ? shown.gave : shown.failed,
  ];
}

test("a stock bore server is known, and gets nothing", async () => {
  await using server = await startBoreServer();
  const [protocol, secret] = await stepsAt(server.rendezvous, goodSecret);
  expect(protocol).toContain("no netaminity proxy: it sends a bore server's challenge");
  expect(protocol).toContain("--bore-port");
  expect(secret).toBe("not tried");
});

test("a stranger with a bore server's challenge hears nothing from the doctor", async () => {
  await using stranger = await listenTcp({
    onOpen: (socket) => void socket.send(encodeFrame({ Challenge: "3f1d9e7a-52c4-4b6e-9a01-7c2d8e5f6a90" })),
  });
  await stepsAt(stranger, goodSecret);
  const [socket] = stranger.sockets;
  await socket?.untilReset();
  expect(socket?.text()).toBe("");
});

test("a stranger who carries the doctor's proof to the real proxy opens nothing with it", async () => {
  await using proxy = await compiled.startProxy();
  await using relay = await startRelay(proxy.rendezvous);
  let sent = Buffer.alloc(0);
  relay.tap = (_, direction, chunk) => {
    if (direction === "up") sent = Buffer.concat([sent, chunk]);
  };
  // The doctor is content, so it has sent a proof that the proxy accepts; whoever passes it on sees nothing of it.
  expect(await stepsAt(relay, goodSecret)).toEqual(["netaminity", { objection: undefined }]);
  const word = Buffer.from(encodeFrame("StartTls"));
  expect(sent.toString("latin1").startsWith(word.toString())).toBe(true);
  expect(sent.byteLength).toBeGreaterThan(word.byteLength);
  expect(sent.toString("latin1")).not.toContain("proof");
  // Nor does a stranger who shows it the proxy's challenge as his own: its proof is bound to the connection inside which it is made.
  await using peer = await connectPeer(proxy.rendezvous);
  const challenge = await peer.heard(0);
  await using stranger = await listenTcp({ onOpen: (socket) => void socket.send(encodeFrame(challenge)) });
  const running = stepsAt(stranger, goodSecret);
  const doctor = peerOn(await stranger.accept());
  expect(await doctor.heard(0)).toBe("StartTls");
  doctor.socket.finish();
  await running;
  expect(doctor.socket.bytes()).toEqual(Buffer.from(word));
  expect((await metricsOf(proxy)).sum("netaminity_sessions_opened_total")).toBe(0);
});

test("a stranger who does not know the secret is not taken for the proxy", async () => {
  const challenge = { Challenge: "6e6d0101-52c4-8b6e-9a01-7c2d8e5f6a90" };
  await using stranger = await listenTcp({ onOpen: (socket) => void socket.send(encodeFrame(challenge)) });
  const running = stepsAt(stranger, goodSecret);
  const peer = peerOn(await stranger.accept());
  const { proof } = contentOf(await peer.heard(0), "Check") as { proof: string };
  await peer.say({ Checked: { proof } });
  expect(await running).toEqual(["netaminity", { objection: "its own proof of the secret is wrong" }]);
});

test("a proxy older than the doctor is not asked for what it does not know", async () => {
  const challenge = { Challenge: "6e6d0100-52c4-8b6e-9a01-7c2d8e5f6a90" };
  await using older = await listenTcp({ onOpen: (socket) => void socket.send(encodeFrame(challenge)) });
  expect(await stepsAt(older, goodSecret)).toEqual(["netaminity", "not offered"]);
  await older.sockets[0]?.untilReset();
  expect(older.sockets[0]?.text()).toBe("");
});

test("both secrets of a rotation are accepted by a proxy that has both", async () => {
  await using proxy = await compiled.startProxy({ secrets: ["new", "old"] });
  expect(await stepsAt(proxy.rendezvous, "new")).toEqual(["netaminity", { objection: undefined }]);
  expect(await stepsAt(proxy.rendezvous, "old")).toEqual(["netaminity", { objection: undefined }]);
  expect(await stepsAt(proxy.rendezvous, "older")).toEqual(["netaminity", { objection: "invalid secret" }]);
});

test("a server that accepts and says nothing is given up within the handshake's deadline", async () => {
  using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  expect(await stepsAt({ host: "127.0.0.1", port: silent.port }, goodSecret)).toEqual([
    "the proxy did not answer in time",
    "not tried",
  ]);
});

test.each([
  ["01", "none"],
  ["03", "none"],
  ["07", "optional"],
  ["0f", "required"],
] as const)(
  "of a proxy with the capabilities %p the doctor says of encryption: %s, also without a secret",
  async (bits, offered) => {
    const challenge = { Challenge: `6e6d01${bits}-52c4-8b6e-9a01-7c2d8e5f6a90` };
    await using stranger = await listenTcp({ onOpen: (socket) => void socket.send(encodeFrame(challenge)) });
    const { proxy } = await examineByHand({ proxyEndpoint: stranger, endpoint: undefined, secret: undefined });
    expect(proxy).toMatchObject({ encryption: "off", offered });
  },
);
