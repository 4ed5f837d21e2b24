import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { listenTcp } from "../support/tcp-ends.ts";
import { ask, goodSecret, type Implementation, untilMetric, untilReady, untilUnready } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { boreAnswer, connectPeer, contentOf, encodeFrame, type Frame, peerOn } from "../support/tunnel-peer.ts";

setDefaultTimeout(60_000);

const together = (...frames: Frame[]) => Buffer.concat(frames.map(encodeFrame));

/** What a peer says in the same packet as the last message of the handshake belongs to a session that has only just begun. */
function firstWords(implementation: Implementation): void {
  test("a target whose server ends each session with its first words says why, and tries again after a growing wait", async () => {
    const challenge = { Challenge: "3f1d9e7a-52c4-4b6e-9a01-7c2d8e5f6a90" };
    await using fake = await listenTcp({
      onOpen: (socket) => void socket.send(together(challenge, { Hello: 4321 }, { Error: "no more" })).catch(() => {}),
    });
    await using backend = await listenTcp();
    await using target = await implementation.startTarget({ proxy: fake, backend, borePort: 0 });
    await untilMetric(target, "netaminity_sessions_lost_total", { reason: "ProtocolError" }, (count) => count >= 4);
    await untilMetric(target, "netaminity_sessions", {}, (count) => count === 0);
    expect(target.log.text()).toContain("the server reported an error");
    expect((await ask(target, "/readyz")).status).toBe(503);
  });

  test("a target serves a server whose heartbeat comes together with its greeting", async () => {
    await using fake = await listenTcp();
    await using backend = await listenTcp();
    await using target = await implementation.startTarget({ proxy: fake, backend, borePort: 0 });
    const peer = peerOn(await fake.accept());
    await peer.say({ Challenge: "3f1d9e7a-52c4-4b6e-9a01-7c2d8e5f6a90" });
    await peer.heard(1);
    await peer.socket.send(together({ Hello: 4321 }, "Heartbeat"));
    await untilReady(target);
    expect(await target.boundPort()).toBe(4321);
  });

  test("a bore client that breaks the protocol with its first words leaves no session behind", async () => {
    await using proxy = await implementation.startProxy();
    await using peer = await connectPeer(proxy.rendezvous);
    const tag = boreAnswer(goodSecret, contentOf(await peer.heard(0), "Challenge"));
    await peer.socket.send(together({ Authenticate: tag }, { Hello: 0 }, "Started"));
    await untilMetric(proxy, "netaminity_sessions_lost_total", { reason: "ProtocolError" }, (count) => count === 1);
    await untilMetric(proxy, "netaminity_sessions", {}, (count) => count === 0);
    await untilUnready(proxy);
  });
}

for (const implementation of [inProcess, compiled]) {
  describe(implementation.name, () => firstWords(implementation));
}
