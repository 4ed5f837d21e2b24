import { expect, test } from "bun:test";
import { contains, isNetworkAddress, parseAddress, parsePrefix, samePrefix } from "../../../src/publish/prefix.ts";

test.each([
  ["10.42.0.0/24", "10.42.0.7/24", true],
  ["10.42.0.0/24", "10.42.1.0/24", false],
  ["10.42.0.0/24", "10.42.0.0/25", false],
  ["fd00:42::/64", "FD00:0042:0:0::/64", true],
  ["fd00:42::/64", "fd00:42:0:0:1::/64", true],
  ["fd00:42::/64", "fd00:42:0:1::/64", false],
  ["::ffff:10.0.0.1/128", "::ffff:a00:1/128", true],
  ["10.0.0.1", "10.0.0.1/32", true],
  ["::/0", "0.0.0.0/0", false],
  ["nonsense", "nonsense", false],
])("%s and %s are the same prefix: %p", (one, other, same) => {
  expect(samePrefix(one, other)).toBe(same);
});

test.each(["", "10.42.0.0/33", "fd00::/129", "10.42.0/24", "10.42.0.0/a", "fe80::1%eth0", "1::2::3"])(
  "%p is no prefix",
  (text) => {
    expect(parsePrefix(text)).toBeUndefined();
  },
);

test.each([
  ["10.42.0.0/24", true],
  ["10.42.0.1/24", false],
  ["10.42.0.0", false],
  ["fd00:42::/64", true],
  ["fd00:42::1/64", false],
])("%s is a network address: %p", (text, is) => {
  expect(isNetworkAddress(text)).toBe(is);
});

test("an address is inside a prefix of its own family alone", () => {
  const inside = (prefix: string, address: string) => {
    const [outer, inner] = [parsePrefix(prefix), parseAddress(address)];
    return outer !== undefined && inner !== undefined && contains(outer, inner);
  };
  expect(inside("10.42.0.0/24", "10.42.0.255")).toBe(true);
  expect(inside("10.42.0.0/24", "10.42.1.0")).toBe(false);
  expect(inside("0.0.0.0/0", "::1")).toBe(false);
  expect(inside("fd00:42::/64", "fd00:42::9/64")).toBe(true);
});
