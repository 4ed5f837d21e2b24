import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Cut, Direction, Link } from "../support/relay.ts";
import type { TcpSocket } from "../support/tcp.ts";
import { type Implementation, metricsOf } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { openRelayed, type RelayedTunnel, untilPooled } from "../support/tunnel-relayed.ts";

setDefaultTimeout(60_000);

const greeting = "220 ready\r\n";

const smallPool = { poolMin: 2, poolMax: 2 };
/** Connections that are prepared to be cut: fewer than the tries that a consumer has. Streams before it may have left more in the pool. */
const cutAtOnce = 3;

const every = (step: number, from: number, to: number) =>
  Array.from({ length: Math.ceil((to - from) / step) }, (_, index) => from + index * step);

/** Bytes after which a start is cut: all around the frames' ends (a start has about 75 bytes, its answer 4), and in the stream behind them. */
const points: Record<Direction, number[]> = {
  down: [...every(2, 0, 12), ...every(10, 12, 60), ...every(2, 60, 110)],
  up: every(1, 0, 28),
};

function idleLinks({ relay }: RelayedTunnel): Link[] {
  // The control connection is the first that a target makes.
  return relay.links.slice(1).filter((link) => link.open);
}

/** Runs `visit` with the links of the pool prepared to be cut after so many bytes. */
async function withCut(
  tunnel: RelayedTunnel,
  cut: { at: number; direction: Direction; how: Cut },
  visit: () => Promise<void>,
) {
  await untilPooled(tunnel.proxy, 2);
  tunnel.relay.cutAfter(cut.at, cut.direction, cut.how, idleLinks(tunnel).slice(0, cutAtOnce));
  await visit();
  tunnel.relay.cutNothing();
}

function deliveries(tunnel: RelayedTunnel, message: string): number {
  return tunnel.backend.sockets.filter((socket) => socket.text().includes(message)).length;
}

async function answerOrEnd(consumer: TcpSocket, bytes: number): Promise<void> {
  await consumer.until((one) => one.received >= bytes || one.closed || one.fin, "an answer or an end", 15_000);
}

async function sameSession(tunnel: RelayedTunnel): Promise<void> {
  expect((await metricsOf(tunnel.proxy)).sum("netaminity_sessions_opened_total")).toBe(1);
}

const cuts: { direction: Direction; how: Cut }[] = [
  { direction: "down", how: "reset" },
  { direction: "down", how: "fin" },
  { direction: "up", how: "reset" },
  { direction: "up", how: "fin" },
];

function everyPoint(implementation: Implementation): void {
  test.each(cuts)("a message is never delivered twice, wherever %o cuts the start", async ({ direction, how }) => {
    await using tunnel = await openRelayed(
      implementation,
      { onData: (_, socket) => void socket.send("got it").catch(() => {}) },
      smallPool,
    );
    let answered = 0;
    for (const at of points[direction]) {
      await withCut(tunnel, { at, direction, how }, async () => {
        const message = `<${direction} ${how} ${at}>`;
        const consumer = await tunnel.connect();
        consumer.send(message).catch(() => {});
        await answerOrEnd(consumer, 6);
        const times = deliveries(tunnel, message);
        expect(times, message).toBeLessThanOrEqual(1);
        if (consumer.text() === "got it") {
          answered += 1;
          expect(times, message).toBe(1);
        } else {
          expect({ message, beginning: "got it".startsWith(consumer.text()) }).toEqual({ message, beginning: true });
        }
        consumer.abort();
      });
    }
    // Some cuts lie behind the whole exchange, and those before the start only cost a connection of the pool.
    expect(answered).toBeGreaterThan(0);
    await sameSession(tunnel);
  });

  test.each(cuts)(
    "a consumer that waits for a greeting gets exactly one, or a reset once it had begun, wherever %o cuts",
    async ({ direction, how }) => {
      await using tunnel = await openRelayed(
        implementation,
        { onOpen: (socket) => void socket.send(greeting).catch(() => {}) },
        smallPool,
      );
      for (const at of points[direction]) {
        await withCut(tunnel, { at, direction, how }, async () => {
          const consumer = await tunnel.connect();
          await answerOrEnd(consumer, greeting.length);
          const text = consumer.text();
          if (text !== greeting) {
            // Only a stream that had started may break, and then visibly (or with the FIN that the relay made up).
            expect({ at, beginning: greeting.startsWith(text), started: direction === "up" && at >= 4 }).toEqual({
              at,
              beginning: true,
              started: true,
            });
          }
          consumer.abort();
        });
      }
      await sameSession(tunnel);
    },
  );
}

for (const implementation of [inProcess, compiled]) {
  describe(implementation.name, () => everyPoint(implementation));
}

test("a start that nobody answers resets a consumer whose bytes were sent and is counted as lost", async () => {
  await using tunnel = await openRelayed(inProcess, {}, { deadline: 600 });
  await untilPooled(tunnel.proxy, 2);
  for (const link of idleLinks(tunnel)) link.freeze();
  const consumer = await tunnel.connect();
  consumer.send("gone for good").catch(() => {});
  await consumer.untilReset();
  expect(consumer.received).toBe(0);
  expect((await metricsOf(tunnel.proxy)).sum("netaminity_streams_total", { result: "lost" })).toBe(1);
  expect(deliveries(tunnel, "gone for good")).toBe(0);
});
