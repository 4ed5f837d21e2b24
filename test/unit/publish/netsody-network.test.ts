import { describe, expect, test } from "bun:test";
import { readNetwork } from "../../../src/publish/netsody-network.ts";
import { makeBase, pkOf } from "../../support/netsody.ts";
import { acceptAsAgent } from "../../support/netsody-validator.ts";

const resource = (dest: string, gw = pkOf(1)) => `\n[[resource]]\ndest = "${dest}"\ngw = "${gw}"\n`;

test("a network as the documentation shows it is read, names as destinations among it", () => {
  const text = makeBase(
    ["a", "b"],
    resource("192.168.188.0/24") + resource("nas.example.internal") + resource("*.example.com"),
  );
  expect(readNetwork(text)).toMatchObject({ network: { nodes: [{ hostname: "a" }, { hostname: "b" }] } });
  expect(acceptAsAgent(text)).toHaveLength(3);
});

const base = makeBase(["a", "b"]);

describe("is refused", () => {
  test.each<[string, string, string]>([
    ["what is no TOML", `${base}\n[[node]`, "it is not TOML: "],
    ["a key that stands there twice", `a = 1\na = 1\n${base}`, "it is not TOML: "],
    ["a file without a network", base.replace(/^network.*\n/, ""), "network: "],
    [
      "a network that is a host address",
      base.replace("10.182.128.0/18", "10.182.128.1/18"),
      'network "10.182.128.1/18" is not',
    ],
    ["an IPv6 network", base.replace("10.182.128.0/18", "fd00::/64"), 'network "fd00::/64" is not'],
    ["a short pk", base.replace(pkOf(1), "abc"), 'node "a": pk "abc" is not 64 hexadecimal digits'],
    ["a pk twice", base.replace(pkOf(2), pkOf(1)), 'node "b": another node has the same pk'],
    ["an ip twice", base.replace("10.182.130.2", "10.182.130.1"), 'node "b": another node has the same ip'],
    ["a hostname twice", base.replace('"b"', '"a"'), 'node "a": another node has the same hostname'],
    ["an ip outside", base.replace("10.182.130.2", "10.183.0.1"), 'node "b": ip 10.183.0.1 is not inside'],
    ["the last address", base.replace("10.182.130.2", "10.182.191.255"), 'node "b": ip 10.182.191.255 is the last'],
    ["a node without an ip", base.replace(/ip = "10.182.130.2"\n/, ""), "node.1.ip: "],
    ["a host address as destination", base + resource("10.42.0.1/24"), 'resource "10.42.0.1/24": dest is not'],
    ["an address as destination", base + resource("10.42.0.1"), 'resource "10.42.0.1": dest is not'],
    [
      "a destination twice",
      base + resource("10.42.0.0/24") + resource("10.42.0.0/24"),
      'resource "10.42.0.0/24": dest stands there twice',
    ],
    ["a gateway that is no node", base + resource("10.42.0.0/24", pkOf(9)), 'resource "10.42.0.0/24": gw'],
    [
      "a name as destination of a route",
      base + resource("nas.example.com").replace("resource", "route"),
      'route "nas.example.com": dest is not',
    ],
  ])("%s", (_what, text, problem) => {
    expect(readNetwork(text)).toEqual({ problem: expect.stringContaining(problem) });
  });
});
