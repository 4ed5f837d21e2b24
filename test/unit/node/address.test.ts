import { describe, expect, test } from "bun:test";
import {
  isRoutable,
  makeAddress,
  mergeRanges,
  parseAddress,
  parseCidr,
  parseCidrs,
} from "../../../src/node/address.ts";

describe("an address has one text", () => {
  test.each([
    ["192.0.2.1", "192.0.2.1"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["2001:db8:0:0:1:0:0:0", "2001:db8:0:0:1::"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["::", "::"],
    ["::ffff:192.0.2.1", "::ffff:c000:201"],
    ["fe80::1%eth0", undefined],
    ["192.0.2.01", undefined],
    ["example.org", undefined],
    ["", undefined],
  ])("%s", (given, text) => {
    expect(parseAddress(given)?.text).toBe(text as string);
  });
});

test.each([
  ["10.0.0.77/8", "10.0.0.0", "10.255.255.255"],
  ["fd00::/112", "fd00::", "fd00::ffff"],
  ["192.0.2.1", "192.0.2.1", "192.0.2.1"],
])("the range of %s", (given, first, last) => {
  const range = parseCidr(given);
  if (range === undefined) throw new Error("it is no range");
  const { family } = range;
  expect([makeAddress(family, range.first).text, makeAddress(family, range.last).text]).toEqual([first, last]);
});

test.each(["10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/9", "10.0.0/8", "fd00::/129", "/8"])("%s is no range", (given) => {
  expect(parseCidr(given)).toBeUndefined();
});

test("ranges that overlap or touch become one, each family by itself", () => {
  const ranges = parseCidrs(["10.0.1.0/24", "10.0.0.0/24", "10.0.0.7", "10.0.9.0/24", "fd00::/64"]);
  expect(mergeRanges(ranges, "ip")).toEqual([
    { family: "ip", first: 0x0a000000n, last: 0x0a0001ffn },
    { family: "ip", first: 0x0a000900n, last: 0x0a0009ffn },
  ]);
  expect(mergeRanges(ranges, "ip6")).toHaveLength(1);
});

test.each([
  ["203.0.113.5", true],
  ["2001:db8::5", true],
  ["0.0.0.0", false],
  ["127.0.0.1", false],
  ["169.254.1.1", false],
  ["224.0.0.1", false],
  ["255.255.255.255", false],
  ["::1", false],
  ["fe80::1", false],
  ["ff02::1", false],
])("%s can belong to a Service: %p", (given, expected) => {
  const address = parseAddress(given);
  expect(address !== undefined && isRoutable(address)).toBe(expected);
});
