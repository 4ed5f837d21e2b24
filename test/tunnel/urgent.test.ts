import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { TcpSocket } from "../support/tcp.ts";
import { readUrgentInline, sendUrgent } from "../support/tcp-urgent.ts";
import { eventually } from "../support/tcp-wait.ts";
import { direct, type TunnelKind, tunnelOf } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";
import { openRig, type Rig } from "../support/tunnel-rig.ts";
import { pattern } from "./cases.ts";

setDefaultTimeout(60_000);

/** An ordinary write, or one whose last byte is urgent. */
interface Piece {
  bytes: Uint8Array;
  urgent: boolean;
}

const ordinary = (size: number, seed: number): Piece => ({ bytes: pattern(size, seed), urgent: false });
const urgent = (size: number, seed: number): Piece => ({ bytes: pattern(size, seed), urgent: true });

const digest = (bytes: Uint8Array) => `${bytes.byteLength} bytes, sha256 ${Bun.SHA256.hash(bytes, "hex")}`;

async function sendAll(socket: TcpSocket, pieces: readonly Piece[]): Promise<void> {
  for (const { bytes, urgent: isUrgent } of pieces) {
    if (isUrgent) await sendUrgent(socket, bytes);
    else await socket.send(bytes);
  }
  socket.finish();
}

const kinds: { name: string; pieces: readonly Piece[] }[] = [
  { name: "alone", pieces: [urgent(1, 1)] },
  { name: "between two words", pieces: [ordinary(9, 1), urgent(1, 2), ordinary(7, 3)] },
  { name: "first and last", pieces: [urgent(1, 1), ordinary(100, 2), urgent(1, 3)] },
  { name: "many in a row", pieces: Array.from({ length: 50 }, (_, at) => urgent(1, at + 1)) },
  { name: "at the end of a longer write", pieces: [urgent(20_000, 1), ordinary(3, 2), urgent(2, 3)] },
  {
    name: "inside a bulk transfer",
    pieces: Array.from({ length: 48 }, (_, at) => [ordinary(400_000 + 7 * at, at + 1), urgent(1, 100 + at)]).flat(),
  },
  {
    name: "at the end of large writes of a bulk transfer",
    pieces: Array.from({ length: 24 }, (_, at) => [
      urgent(300_000, at + 1),
      urgent(1, 50 + at),
      urgent(1, 80 + at),
    ]).flat(),
  },
];

/** Two ends that read urgent bytes where they are, as a direct connection offers it; through a tunnel the byte comes and the mark does not. */
async function urgentPair(rig: Rig): Promise<{ consumer: TcpSocket; server: TcpSocket }> {
  const pair = await rig.pair();
  readUrgentInline(pair.consumer);
  readUrgentInline(pair.server);
  return pair;
}

function cases(kind: TunnelKind): void {
  test.each(kinds)("urgent bytes stay in the stream, in order: $name", async ({ pieces }) => {
    await using rig = await openRig(kind);
    const { consumer, server } = await urgentPair(rig);
    await Promise.all([sendAll(consumer, pieces), sendAll(server, pieces)]);
    await Promise.all([consumer.untilClosed(20_000), server.untilClosed(20_000)]);
    const sent = Buffer.concat(pieces.map(({ bytes }) => bytes));
    for (const end of [consumer, server]) {
      expect({ fin: end.fin, reset: end.reset }).toEqual({ fin: true, reset: undefined });
      expect(digest(end.bytes())).toBe(digest(sent));
    }
  });

  test("urgent bytes that wait behind a slow reader stay in the stream too", async () => {
    await using rig = await openRig(kind);
    const { consumer, server } = await urgentPair(rig);
    server.pause();
    const chunk = pattern(1_000_000, 1);
    const pieces = Array.from({ length: 24 }, (_, at): Piece[] => [
      { bytes: chunk, urgent: false },
      urgent(1, at + 1),
    ]).flat();
    let done = false;
    const sending = sendAll(consumer, pieces).then(() => {
      done = true;
    });
    // Marks lie in all buffers on the way then.
    let [taken, quiet] = [0, 0];
    await eventually(
      () => {
        quiet = consumer.accepted > taken ? 0 : quiet + 1;
        taken = consumer.accepted;
        return done || quiet >= 30;
      },
      "all is sent, or the writer is held up",
      20_000,
    );
    server.resume();
    await sending;
    await server.untilFin(20_000);
    expect(digest(server.bytes())).toBe(digest(Buffer.concat(pieces.map(({ bytes }) => bytes))));
  });

  test("an urgent byte does not hold up what follows it", async () => {
    await using rig = await openRig(kind);
    const { consumer, server } = await urgentPair(rig);
    for (const [from, to] of [
      [consumer, server],
      [server, consumer],
    ] as const) {
      let sent = 0;
      for (let turn = 0; turn < 20; turn += 1) {
        const bulk = pattern(700_000, turn + 1);
        const word = pattern(64, turn + 1);
        await from.send(bulk);
        await sendUrgent(from, word);
        await from.send(word);
        sent += bulk.byteLength + 2 * word.byteLength;
        await to.untilReceived(sent);
      }
      expect(to.received).toBe(sent);
    }
  });
}

for (const kind of [direct, tunnelOf(inProcess), tunnelOf(compiled)]) describe(kind.name, () => cases(kind));
