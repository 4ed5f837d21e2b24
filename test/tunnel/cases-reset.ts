import { expect, test } from "bun:test";
import { eventually } from "../support/tcp-wait.ts";
import type { TunnelKind } from "../support/tunnel.ts";
import { openRig } from "../support/tunnel-rig.ts";

/** Cases in which bore sends a clean FIN instead and so makes a broken stream look complete. */
export function resetCases(kind: TunnelKind): void {
  test("passes a consumer's reset to the backend as a reset", async () => {
    await using rig = await openRig(kind);
    const { consumer, server } = await rig.pair();
    await consumer.send("half a request");
    await server.untilReceived(14);
    consumer.abort();
    await server.untilReset();
    expect({ text: server.text(), fin: server.fin, reset: server.reset }).toEqual({
      text: "half a request",
      fin: false,
      reset: "ECONNRESET",
    });
  });

  test("passes a backend's reset to the consumer as a reset", async () => {
    await using rig = await openRig(kind);
    const { consumer, server } = await rig.pair();
    await server.send("half an answer");
    await consumer.untilReceived(14);
    server.abort();
    await consumer.untilReset();
    expect({ text: consumer.text(), fin: consumer.fin, reset: consumer.reset }).toEqual({
      text: "half an answer",
      fin: false,
      reset: "ECONNRESET",
    });
  });

  test("passes a reset of a stream that has carried nothing", async () => {
    await using rig = await openRig(kind);
    const { consumer, server } = await rig.pair();
    consumer.abort();
    await server.untilReset();
    expect({ received: server.received, fin: server.fin }).toEqual({ received: 0, fin: false });
  });

  test("passes a reset that follows the backend's FIN", async () => {
    await using rig = await openRig(kind);
    const { consumer, server } = await rig.pair();
    server.finish();
    await consumer.untilFin();
    await consumer.send("more");
    await server.untilReceived(4);
    consumer.abort();
    await server.untilReset();
    expect({ text: server.text(), fin: server.fin, reset: server.reset }).toEqual({
      text: "more",
      fin: false,
      reset: "ECONNRESET",
    });
  });

  test("passes a reset by the side that had sent its FIN before", async () => {
    await using rig = await openRig(kind);
    const { consumer, server } = await rig.pair();
    consumer.finish();
    await server.untilFin();
    await server.send("answer begins");
    await consumer.untilReceived(13);
    consumer.abort();
    await server.untilReset();
    // After a FIN the kernel reports the reset as EPIPE.
    expect({ fin: server.fin, reset: server.reset }).toEqual({ fin: true, reset: "EPIPE" });
  });

  test("passes a consumer's reset although the backend has stopped reading", async () => {
    await using rig = await openRig(kind, { keep: false });
    const { consumer, server } = await rig.pair();
    server.pause();
    const chunk = new Uint8Array(65_536);
    let refused = 0;
    while (refused < 20) {
      if (consumer.offer(chunk) > 0) refused = 0;
      else refused += 1;
      await Bun.sleep(5);
    }
    consumer.abort();
    await server.untilReset();
    expect(server.fin).toBe(false);
  });

  test("passes a backend's reset although the consumer has stopped reading", async () => {
    await using rig = await openRig(kind, { keep: false });
    const { consumer, server } = await rig.pair();
    consumer.pause();
    const chunk = new Uint8Array(65_536);
    let refused = 0;
    while (refused < 20) {
      if (server.offer(chunk) > 0) refused = 0;
      else refused += 1;
      await Bun.sleep(5);
    }
    server.abort();
    await consumer.untilReset();
    expect(consumer.fin).toBe(false);
  });

  for (const [by, other] of [
    ["consumer", "server"],
    ["server", "consumer"],
  ] as const) {
    test(`passes a reset by the ${by} in the middle of a transfer at full speed`, async () => {
      await using rig = await openRig(kind, { keep: false });
      const pair = await rig.pair({ keep: false });
      const chunk = new Uint8Array(262_144);
      await eventually(
        () => {
          while (pair.consumer.offer(chunk) === chunk.byteLength);
          return pair.server.received > 64 * 1024 * 1024;
        },
        () => `the transfer runs; ${pair.server.received} bytes have arrived`,
        20_000,
      );
      pair[by].abort();
      await pair[other].untilReset();
      expect(pair[other].fin).toBe(false);
    });
  }

  test("resets nothing else when one stream is reset", async () => {
    await using rig = await openRig(kind);
    const first = await rig.pair();
    const second = await rig.pair();
    first.consumer.abort();
    await first.server.untilReset();
    await second.consumer.send("still here");
    await second.server.untilReceived(10);
    await second.server.send("yes");
    await second.consumer.untilReceived(3);
    expect({ up: second.server.text(), down: second.consumer.text() }).toEqual({ up: "still here", down: "yes" });
  });
}
