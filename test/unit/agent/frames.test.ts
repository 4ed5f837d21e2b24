/** What comes over a data connection, cut anywhere, and what no peer may say. */
import { describe, expect, test } from "bun:test";
import { DataConnection } from "../../../src/agent/protocol/data-connection.ts";
import { FrameReader } from "../../../src/agent/protocol/frame-reader.ts";
import {
  endFrame,
  frameType,
  maxControl,
  numberFrame,
  putHeader,
  rawFrame,
  refusalIn,
  refusedFrame,
  startedFrame,
  startFrame,
  startIn,
} from "../../../src/agent/protocol/frames.ts";
import { encode } from "../../../src/agent/protocol/messages.ts";
import { ConnectionOwner, proofOf } from "../../support/data-connections.ts";
import { connectWires } from "../../support/secure-wires.ts";

const consumer = { from: "192.0.2.1:1", to: "[2001:db8::1]:65535" };
const start = startFrame({ ...consumer, stream: 1, proof: proofOf(1) });

function dataFrame(bytes: Uint8Array): Uint8Array {
  const header = new Uint8Array(4);
  putHeader(header, 0, frameType.data, bytes.byteLength);
  return Buffer.concat([header, bytes]);
}

test("a start says the same at both ends", () => {
  const payload = Buffer.from(start.subarray(4));
  const read = startIn(payload);
  expect(read && { ...read, proof: Buffer.from(read.proof) }).toEqual({
    ...consumer,
    stream: 1,
    proof: Buffer.from(proofOf(1)),
  });
  for (const wrong of [
    payload.subarray(0, 20),
    payload.subarray(0, 40),
    Buffer.concat([payload, Buffer.from("\0x")]),
  ]) {
    expect(startIn(wrong)).toBeUndefined();
  }
});

test("a refusal says the same at both ends, and a long reason is cut", () => {
  const refusal = { result: "unresolved", reason: "ein Grund: ü" };
  expect(refusalIn(Buffer.from(refusedFrame(refusal).subarray(4)))).toEqual(refusal);
  const long = refusedFrame({ result: "refused", reason: "x".repeat(5000) });
  expect(long.byteLength).toBe(4 + maxControl);
});

test("frames, messages between them and raw bytes are the same wherever what is read is cut", () => {
  const raw = Buffer.from("as it is, \u0001 and \u0005 too");
  const stream = Buffer.concat([
    encode("Ping", 7),
    start,
    dataFrame(Buffer.from("some bytes")),
    numberFrame(frameType.pong, 9),
    dataFrame(new Uint8Array(0)),
    encode("Error", "no"),
    rawFrame,
    raw,
  ]);
  const readIn = (pieces: Uint8Array[]) => {
    const seen = { words: [] as string[], bytes: "", isRaw: false };
    const reader = new FrameReader({
      get isRaw() {
        return seen.isRaw;
      },
      isReading: true,
      frame: (type, payload) => {
        seen.words.push(`${type}:${payload.toString("hex")}`);
        seen.isRaw ||= type === frameType.raw;
      },
      message: ({ name, value }) => void seen.words.push(`${name} ${value}`),
      bytes: (bytes) => {
        seen.bytes += Buffer.from(bytes).toString();
      },
    });
    for (const piece of pieces) reader.read(piece);
    return seen;
  };
  const whole = readIn([stream]);
  expect(whole.bytes).toBe(`some bytes${raw}`);
  expect(whole.words.length).toBe(7);
  for (let at = 1; at < stream.byteLength; at += 1) {
    expect(readIn([stream.subarray(0, at), stream.subarray(at)]), `cut at ${at}`).toEqual(whole);
  }
  expect(readIn([...stream].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
});

/** A proxy's or target's end of a connection whose other end says what the test likes. */
async function told(side: "proxy" | "target", words: Uint8Array, before?: (connection: DataConnection) => void) {
  await using pair = await connectWires();
  const owner = new ConnectionOwner();
  const connection = new DataConnection(side === "proxy" ? pair.server : pair.client, 2, proofOf, owner);
  before?.(connection);
  (side === "proxy" ? pair.client : pair.server).write(words);
  await owner.until(() => owner.events.some((event) => event.startsWith("lost")), "it is given up");
  return { events: owner.events, open: connection.wire.open };
}

const header = (type: number, size: number): Uint8Array => Uint8Array.of(type, size >> 16, size >> 8, size);
const begun = (connection: DataConnection) => connection.begin(consumer).flush();

describe("a peer that says what it may not is reset", () => {
  test.each<[string, "proxy" | "target", Uint8Array, string]>([
    ["bytes outside of a stream", "target", dataFrame(Buffer.from("x")), "data outside of a stream"],
    ["an end outside of a stream", "target", endFrame, "end outside of a stream"],
    ["raw outside of a stream", "target", rawFrame, "raw outside of a stream"],
    ["a frame of no type", "target", header(0, 0), "a frame of an unknown type"],
    ["a frame of a later type", "target", header(31, 0), "a frame of an unknown type"],
    ["a control frame that is too long", "target", header(frameType.ping, maxControl + 1), "a frame is longer than"],
    ["a message without an end", "target", Buffer.alloc(300, "{"), "a message is longer than"],
    ["a start that is too short", "target", header(frameType.start, 0), "a start frame has a wrong content"],
    [
      "a start with another number",
      "target",
      startFrame({ ...consumer, stream: 2, proof: proofOf(2) }),
      "out of its turn",
    ],
    [
      "a start with another one's proof",
      "target",
      startFrame({ ...consumer, stream: 1, proof: proofOf(2) }),
      "session's key",
    ],
    ["a second start", "target", Buffer.concat([start, start]), "out of its turn"],
    ["an answer to no start", "proxy", startedFrame, "an answer outside of a stream"],
    [
      "a refusal of no start",
      "proxy",
      refusedFrame({ result: "refused", reason: "" }),
      "an answer outside of a stream",
    ],
  ])("%s", async (_, side, words, reason) => {
    const { events, open } = await told(side, words);
    expect({ told: events.at(-1)?.includes(reason), events, open }).toMatchObject({ told: true, open: false });
  });

  test.each<[string, Uint8Array, string]>([
    ["bytes before the answer", dataFrame(Buffer.from("x")), "data before the answer"],
    ["an end before the answer", endFrame, "end before the answer"],
    ["a second answer", Buffer.concat([startedFrame, startedFrame]), "an answer without a start"],
  ])("%s", async (_, words, reason) => {
    const { events, open } = await told("proxy", words, begun);
    expect({ told: events.at(-1)?.includes(reason), events, open }).toMatchObject({ told: true, open: false });
  });
});

test("frames are nothing for a peer of the first revision", async () => {
  await using pair = await connectWires();
  const owner = new ConnectionOwner();
  const connection = new DataConnection(pair.client, 1, proofOf, owner);
  pair.server.write(numberFrame(frameType.ping, 1));
  await owner.until(() => owner.events.length > 0, "it is given up");
  expect([owner.events, connection.wire.open]).toEqual([["lost: a frame in a session without frames"], false]);
});
