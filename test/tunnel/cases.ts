import { describe, expect, test } from "bun:test";
import type { TcpSocket } from "../support/tcp.ts";
import type { TunnelKind } from "../support/tunnel.ts";
import { openRig } from "../support/tunnel-rig.ts";
import { boundCases } from "./cases-bound.ts";
import { resetCases } from "./cases-reset.ts";

/** Bytes that differ everywhere, so that a lost, repeated or moved piece shows. */
export function pattern(length: number, seed: number): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  let state = (seed * 2654435761) >>> 0 || 1;
  for (let index = 0; index < words.length; index += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[index] = state;
  }
  return new Uint8Array(words.buffer, 0, length);
}

function digest(bytes: Uint8Array): string {
  return `${bytes.byteLength} bytes, sha256 ${Bun.SHA256.hash(bytes, "hex")}`;
}

async function sendInPieces(socket: TcpSocket, bytes: Uint8Array, pieces: readonly number[]): Promise<void> {
  let offset = 0;
  for (let turn = 0; offset < bytes.byteLength; turn += 1) {
    const size = pieces[turn % pieces.length] ?? 1;
    await socket.send(bytes.subarray(offset, offset + size));
    offset += size;
    // Lets the piece travel alone instead of being merged with the next one.
    if (turn % 8 === 0) await Bun.sleep(0);
  }
}

async function bothEnded(...sockets: TcpSocket[]): Promise<void> {
  for (const socket of sockets) {
    await socket.untilClosed(20_000);
    expect({ fin: socket.fin, reset: socket.reset }).toEqual({ fin: true, reset: undefined });
  }
}

const sizes = [0, 1, 2, 255, 256, 257, 4095, 65_536, 1_048_577, 8_388_608];

function byteCases(kind: TunnelKind): void {
  test.each(sizes)("carries %d bytes each way at the same time unchanged", async (size) => {
    await using rig = await openRig(kind);
    const { consumer, server } = await rig.pair();
    const [up, down] = [pattern(size, 1), pattern(size + 3, 2)];
    await Promise.all([consumer.send(up), server.send(down)]);
    consumer.finish();
    server.finish();
    await bothEnded(consumer, server);
    expect({ up: digest(server.bytes()), down: digest(consumer.bytes()) }).toEqual({
      up: digest(up),
      down: digest(down),
    });
  });

  test("keeps bytes in order however they are cut into pieces", async () => {
    await using rig = await openRig(kind);
    const { consumer, server } = await rig.pair();
    const [up, down] = [pattern(300_000, 3), pattern(300_000, 4)];
    await Promise.all([
      sendInPieces(consumer, up, [1, 7, 512, 3000, 2]),
      sendInPieces(server, down, [70_000, 1, 1, 9, 4096]),
    ]);
    consumer.finish();
    server.finish();
    await bothEnded(consumer, server);
    expect({ up: digest(server.bytes()), down: digest(consumer.bytes()) }).toEqual({
      up: digest(up),
      down: digest(down),
    });
  });

  test("passes the backend's greeting before the consumer says anything", async () => {
    await using rig = await openRig(kind, { onOpen: (socket) => void socket.send("220 ready\r\n") });
    const consumer = await rig.connect();
    await consumer.untilReceived(11);
    expect(consumer.text()).toBe("220 ready\r\n");
  });

  test("connects to the backend for a consumer that stays silent", async () => {
    await using rig = await openRig(kind);
    const { consumer, server } = await rig.pair();
    await server.send("are you there?");
    await consumer.untilReceived(14);
    expect(consumer.text()).toBe("are you there?");
  });

  test("keeps streams apart", async () => {
    await using rig = await openRig(kind);
    const pairs: Awaited<ReturnType<typeof rig.pair>>[] = [];
    for (let index = 0; index < 20; index += 1) pairs.push(await rig.pair());
    await Promise.all(
      pairs.flatMap(({ consumer, server }, index) => [
        consumer.send(pattern(50_000, index)),
        server.send(pattern(40_000, 100 + index)),
      ]),
    );
    for (const [index, { consumer, server }] of pairs.entries()) {
      await Promise.all([server.untilReceived(50_000), consumer.untilReceived(40_000)]);
      expect(digest(server.bytes())).toBe(digest(pattern(50_000, index)));
      expect(digest(consumer.bytes())).toBe(digest(pattern(40_000, 100 + index)));
    }
  });
}

function endCases(kind: TunnelKind): void {
  test("goes on from backend to consumer long after the consumer's FIN", async () => {
    await using rig = await openRig(kind);
    const { consumer, server } = await rig.pair();
    await consumer.send("request");
    consumer.finish();
    await server.untilFin();
    expect(server.text()).toBe("request");
    const answer = pattern(2_000_000, 5);
    await sendInPieces(server, answer, [20_000]);
    await consumer.untilReceived(answer.byteLength);
    expect({ fin: consumer.fin, closed: consumer.closed }).toEqual({ fin: false, closed: false });
    server.finish();
    await bothEnded(consumer, server);
    expect(digest(consumer.bytes())).toBe(digest(answer));
  });

  test("goes on from consumer to backend long after the backend's FIN", async () => {
    await using rig = await openRig(kind);
    const { consumer, server } = await rig.pair();
    await server.send("greeting");
    server.finish();
    await consumer.untilFin();
    expect(consumer.text()).toBe("greeting");
    const upload = pattern(2_000_000, 6);
    await sendInPieces(consumer, upload, [20_000]);
    await server.untilReceived(upload.byteLength);
    expect({ fin: server.fin, closed: server.closed }).toEqual({ fin: false, closed: false });
    consumer.finish();
    await bothEnded(consumer, server);
    expect(digest(server.bytes())).toBe(digest(upload));
  });

  test("delivers everything that a consumer wrote right before its FIN to a backend that reads late", async () => {
    await using rig = await openRig(kind, { onOpen: (socket) => socket.pause() });
    const { consumer, server } = await rig.pair();
    const upload = pattern(3_000_001, 7);
    const sending = consumer.send(upload);
    consumer.finish();
    await Bun.sleep(50);
    server.resume();
    await sending;
    await server.untilFin(20_000);
    expect(digest(server.bytes())).toBe(digest(upload));
  });

  test("delivers everything that a backend wrote right before its FIN while the consumer reads late and keeps sending", async () => {
    await using rig = await openRig(kind, { keep: false });
    const { consumer, server } = await rig.pair();
    consumer.pause();
    const answer = pattern(8_000_001, 8);
    const sending = server.send(answer);
    server.finish();
    for (let turn = 0; turn < 40; turn += 1) await consumer.send(pattern(1000, turn));
    consumer.resume();
    await sending;
    await consumer.untilFin(20_000);
    await server.untilReceived(40_000);
    expect(digest(consumer.bytes())).toBe(digest(answer));
  });

  test("delivers a long answer completely to a consumer that has sent its FIN and reads late", async () => {
    await using rig = await openRig(kind);
    const { consumer, server } = await rig.pair();
    consumer.pause();
    consumer.finish();
    await server.untilFin();
    const answer = pattern(20_000_003, 9);
    const sending = server.send(answer);
    server.finish();
    await Bun.sleep(50);
    consumer.resume();
    await sending;
    await bothEnded(consumer, server);
    expect(digest(consumer.bytes())).toBe(digest(answer));
  });

  test("ends cleanly for a consumer that connects and closes", async () => {
    await using rig = await openRig(kind, { onFin: (socket) => socket.finish() });
    const { consumer, server } = await rig.pair();
    consumer.finish();
    await bothEnded(server, consumer);
    expect({ up: server.received, down: consumer.received }).toEqual({ up: 0, down: 0 });
  });

  test("ends cleanly when the backend closes first and the consumer follows", async () => {
    await using rig = await openRig(kind, { onOpen: (socket) => void socket.send("bye").then(() => socket.finish()) });
    const consumer = await rig.connect();
    await consumer.untilFin();
    expect(consumer.text()).toBe("bye");
    consumer.finish();
    await bothEnded(consumer, await rig.backend.accept());
  });
}

/** What a tunnel has to do exactly as a direct connection does it. */
export function tunnelCases(kind: TunnelKind): void {
  describe(kind.name, () => {
    byteCases(kind);
    endCases(kind);
    boundCases(kind);
    if (kind.carriesReset) resetCases(kind);
  });
}
