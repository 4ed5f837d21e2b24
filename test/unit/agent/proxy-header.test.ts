import { describe, expect, test } from "bun:test";
import { makeProxyHeader, ProxyHeaderError, parseProxyHeader } from "../../../src/agent/protocol/proxy-header.ts";

const v2Signature = "0d0a0d0a000d0a515549540a";
const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");

/** Examples of the specification's grammar, written out by hand. */
const headers: [string, Uint8Array, { from: string; to: string } | undefined][] = [
  [
    "version 1 over IPv4",
    Buffer.from("PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n"),
    { from: "192.0.2.1:56324", to: "198.51.100.2:443" },
  ],
  [
    "version 1 over IPv6",
    Buffer.from("PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n"),
    { from: "[2001:db8::1]:1", to: "[2001:db8::2]:65535" },
  ],
  ["version 1 of an unknown connection", Buffer.from("PROXY UNKNOWN\r\n"), undefined],
  [
    "version 2 over IPv4",
    hex(`${v2Signature} 21 11 000c c0000201 c6336402 dc04 01bb`),
    { from: "192.0.2.1:56324", to: "198.51.100.2:443" },
  ],
  [
    "version 2 over IPv6",
    hex(`${v2Signature} 21 21 0024 20010db8000000000000000000000001 20010db8000000000000000000000002 0001 ffff`),
    { from: "[2001:db8::1]:1", to: "[2001:db8::2]:65535" },
  ],
  ["version 2 of a health check", hex(`${v2Signature} 20 00 0000`), undefined],
];

describe("a PROXY protocol header", () => {
  test.each(headers)("of %s is read, and what follows is left alone", (_, bytes, addresses) => {
    expect(parseProxyHeader(Buffer.concat([bytes, Buffer.from("GET /")]))).toEqual({ addresses, length: bytes.length });
  });

  test.each(headers)("of %s is awaited until it is whole", (_, bytes) => {
    for (let length = 0; length < bytes.length; length += 1) {
      expect(parseProxyHeader(bytes.subarray(0, length))).toBeUndefined();
    }
  });

  test.each(headers)("of %s is written as it is read", (name, bytes, addresses) => {
    const version = name.startsWith("version 1") ? "v1" : "v2";
    expect(Buffer.from(makeProxyHeader(version, addresses?.from, addresses?.to))).toEqual(Buffer.from(bytes));
  });

  test("with extensions of version 2 is read with them", () => {
    const bytes = hex(`${v2Signature} 21 11 0010 c0000201 c6336402 dc04 01bb 04 0001 ff`);
    expect(parseProxyHeader(bytes)).toEqual({
      addresses: { from: "192.0.2.1:56324", to: "198.51.100.2:443" },
      length: bytes.length,
    });
  });

  test("of version 2 needs no more than its addresses, however long it is", () => {
    const bytes = hex(`${v2Signature} 21 11 ffff c0000201 c6336402 dc04 01bb`);
    expect(parseProxyHeader(bytes)).toEqual({
      addresses: { from: "192.0.2.1:56324", to: "198.51.100.2:443" },
      length: 16 + 65_535,
    });
    expect(parseProxyHeader(bytes.subarray(0, -1))).toBeUndefined();
  });

  test.each([
    ["a health check that names addresses", `${v2Signature} 20 11 000c`],
    ["a health check of a family that does not exist", `${v2Signature} 20 ff 000c`],
    ["a datagram", `${v2Signature} 21 12 000c`],
    ["a Unix socket", `${v2Signature} 21 31 00d8`],
  ])("of version 2 for %s has no addresses, and is as long as it says", (_, text) => {
    const bytes = hex(text);
    expect(parseProxyHeader(bytes)).toEqual({ addresses: undefined, length: 16 + bytes.readUInt16BE(14) });
  });

  test("for a link-local address leaves its zone out, which means nothing elsewhere", () => {
    const ends = ["[fe80::1%eth0]:1", "[fe80::2%eth0]:2"] as const;
    expect(Buffer.from(makeProxyHeader("v1", ...ends)).toString()).toBe("PROXY TCP6 fe80::1 fe80::2 1 2\r\n");
    expect(parseProxyHeader(makeProxyHeader("v2", ...ends))?.addresses).toEqual({
      from: "[fe80::1]:1",
      to: "[fe80::2]:2",
    });
  });

  test("between an IPv4 and an IPv6 address is one of IPv6", () => {
    expect(Buffer.from(makeProxyHeader("v1", "192.0.2.1:1", "[2001:db8::2]:2")).toString()).toBe(
      "PROXY TCP6 ::ffff:192.0.2.1 2001:db8::2 1 2\r\n",
    );
    const version2 = makeProxyHeader("v2", "192.0.2.1:1", "[2001:db8::2]:2");
    expect(parseProxyHeader(version2)?.addresses).toEqual({ from: "[::ffff:c000:201]:1", to: "[2001:db8::2]:2" });
  });

  test.each([
    ["another protocol", "GET / HTTP/1.1\r\n"],
    ["an unknown family", "PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n"],
    ["an address of the wrong family", "PROXY TCP4 ::1 ::1 1 2\r\n"],
    ["a port out of range", "PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n"],
    ["a missing port", "PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n"],
    ["more than its fields", "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n"],
    ["a port with a leading zero", "PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n"],
    ["no end", `PROXY TCP4 ${"1".repeat(120)}`],
    ["longer than a line may be", `PROXY UNKNOWN ${"1".repeat(100)}\r\n`],
  ])("is refused when it is %s", (_, text) => {
    expect(() => parseProxyHeader(Buffer.from(text))).toThrow(ProxyHeaderError);
  });

  test.each([
    ["another version", `${v2Signature} 31 11 000c`],
    ["an unknown command", `${v2Signature} 22 11 000c c0000201 c6336402 dc04 01bb`],
    ["the last of the unknown commands", `${v2Signature} 2f 00 0000`],
    ["an unknown family", `${v2Signature} 21 41 0000`],
    ["an unknown protocol", `${v2Signature} 21 13 000c c0000201 c6336402 dc04 01bb`],
    ["too short for its addresses", `${v2Signature} 21 11 0004 c0000201`],
  ])("of version 2 is refused when it is %s", (_, text) => {
    expect(() => parseProxyHeader(hex(text))).toThrow(ProxyHeaderError);
  });
});
