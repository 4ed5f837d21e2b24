import { describe, expect, test } from "bun:test";
import { decode, encode, type Message, MessageReader, ProtocolError } from "../../../src/agent/protocol/messages.ts";

const id = "a".repeat(32);
const tag = "b".repeat(64);
const uuid = "01234567-89ab-4def-8123-456789abcdef";

/** Every message as it is on the wire; the first eight as bore 0.6.0 writes them. */
const frames: [string, Message][] = [
  [`{"Challenge":"${uuid}"}`, { name: "Challenge", value: uuid }],
  [`{"Authenticate":"${tag}"}`, { name: "Authenticate", value: tag }],
  ['{"Hello":30080}', { name: "Hello", value: 30080 }],
  ['"Heartbeat"', { name: "Heartbeat", value: null }],
  [`{"Connection":"${uuid}"}`, { name: "Connection", value: uuid }],
  [`{"Accept":"${uuid}"}`, { name: "Accept", value: uuid }],
  ['{"Error":"invalid secret"}', { name: "Error", value: "invalid secret" }],
  [
    `{"Attach":{"target":"${id}","nonce":"${id}","proof":"${tag}"}}`,
    { name: "Attach", value: { target: id, nonce: id, proof: tag } },
  ],
  [`{"Attached":{"session":"${id}","proof":"${tag}"}}`, { name: "Attached", value: { session: id, proof: tag } }],
  [
    `{"Attached":{"session":"${id}","proof":"${tag}","address":"10.0.0.1:7835"}}`,
    { name: "Attached", value: { session: id, proof: tag, address: "10.0.0.1:7835" } },
  ],
  ['{"Moved":"[2001:db8::1]:7835"}', { name: "Moved", value: "[2001:db8::1]:7835" }],
  [
    `{"Serve":{"from":"[2001:db8::1]:1","to":"10.0.0.1:2","nonce":"${id}","proof":"${tag}"}}`,
    { name: "Serve", value: { from: "[2001:db8::1]:1", to: "10.0.0.1:2", nonce: id, proof: tag } },
  ],
  [`{"Serving":{"proof":"${tag}"}}`, { name: "Serving", value: { proof: tag } }],
  ['{"Ping":7}', { name: "Ping", value: 7 }],
  ['{"Pong":7}', { name: "Pong", value: 7 }],
  ['{"Open":3}', { name: "Open", value: 3 }],
  ['"Drain"', { name: "Drain", value: null }],
  [
    `{"Join":{"session":"${id}","number":9,"proof":"${tag}"}}`,
    { name: "Join", value: { session: id, number: 9, proof: tag } },
  ],
  [
    `{"Start":{"from":"[2001:db8::1]:1","to":"10.0.0.1:2","proof":"${tag}"}}`,
    { name: "Start", value: { from: "[2001:db8::1]:1", to: "10.0.0.1:2", proof: tag } },
  ],
  ['"Started"', { name: "Started", value: null }],
  ['{"Refused":{"result":"refused","reason":"no"}}', { name: "Refused", value: { result: "refused", reason: "no" } }],
];

describe("a message", () => {
  test.each(frames)("is written and read as %s", (text, message) => {
    expect(Buffer.from(encode(message.name, message.value)).toString()).toBe(`${text}\0`);
    expect(decode(Buffer.from(text))).toEqual(message);
  });

  test("with the longest addresses fits into a frame", () => {
    const longest = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535";
    expect(encode("Start", { from: longest, to: longest, proof: tag }).byteLength).toBeLessThanOrEqual(257);
  });

  test("that would not fit is not written", () => {
    expect(() => encode("Error", "x".repeat(250))).toThrow(RangeError);
  });
});

describe("a frame is refused", () => {
  test.each([
    ["that is empty", ""],
    ["that is no JSON", "{"],
    ["that is JSON of another kind", "7"],
    ["that is null", "null"],
    ["that is an empty object", "{}"],
    ["with an unknown message", '{"Reboot":1}'],
    ["named like a property of every object", '"constructor"'],
    ["whose port is too high", '{"Hello":65536}'],
    ["whose port is negative", '{"Hello":-1}'],
    ["whose port is a fraction", '{"Hello":1.5}'],
    ["whose id is no UUID", '{"Accept":"x"}'],
    ["whose proof is too short", `{"Join":{"session":"${id}","number":1,"proof":"bb"}}`],
    ["without a content that it needs", '"Attach"'],
  ])("%s", (_, text) => {
    expect(() => decode(Buffer.from(text))).toThrow(ProtocolError);
  });
});

function readAll(reader: MessageReader): Message[] {
  const messages: Message[] = [];
  for (let message = reader.next(); message !== undefined; message = reader.next()) messages.push(message);
  return messages;
}

describe("the reader", () => {
  const wire = Buffer.from(frames.map(([text]) => `${text}\0`).join(""));
  const expected = frames.map(([, message]) => message);

  test("finds all messages when each byte comes alone", () => {
    const reader = new MessageReader();
    const found: Message[] = [];
    for (const byte of wire) {
      reader.push(Uint8Array.of(byte));
      found.push(...readAll(reader));
    }
    expect(found).toEqual(expected);
  });

  test("finds all messages wherever the bytes are cut in two", () => {
    for (let cut = 0; cut <= wire.length; cut += 1) {
      const reader = new MessageReader();
      reader.push(wire.subarray(0, cut));
      const found = readAll(reader);
      reader.push(wire.subarray(cut));
      expect([...found, ...readAll(reader)]).toEqual(expected);
    }
  });

  test("leaves what follows a message as it is", () => {
    const reader = new MessageReader();
    reader.push(Buffer.from('"Started"\0\0\0binary\0'));
    expect(reader.next()).toEqual({ name: "Started", value: null });
    expect(Buffer.from(reader.rest()).toString()).toBe("\0\0binary\0");
    expect(reader.rest().byteLength).toBe(0);
  });

  test("accepts a frame of 256 bytes and no longer one, also before its end has come", () => {
    const text = (length: number) => `{"Error":"${"x".repeat(length - 12)}"}`;
    const reader = new MessageReader();
    reader.push(Buffer.from(`${text(256)}\0`));
    expect(reader.next()).toMatchObject({ name: "Error" });
    reader.push(Buffer.from(`${text(257)}\0`));
    expect(() => reader.next()).toThrow(ProtocolError);
    const endless = new MessageReader();
    endless.push(Buffer.alloc(257, "x"));
    expect(() => endless.next()).toThrow(ProtocolError);
  });
});
