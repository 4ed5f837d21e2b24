import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Family } from "../../src/node/address.ts";
import { allowIcmpAnnotation, wholeIpAnnotation } from "../../src/node/names.ts";
import { endpointOf, type KeptNodes, keepNodes } from "../support/node-kept.ts";
import { addressesOf, type Lab, type Machine, openLab } from "../support/node-lab.ts";
import { makeService, makeSlice } from "../support/node-objects.ts";

setDefaultTimeout(60_000);

type Host = Exclude<Machine, "wire">;

describe.each(["ip", "ip6"] as const)("%s", (family: Family) => {
  let lab: Lab;
  let nodes: KeptNodes;
  const at = addressesOf[family];

  beforeAll(async () => {
    lab = await openLab(family);
    nodes = keepNodes(lab, family);
  });
  afterAll(async () => {
    await nodes?.[Symbol.asyncDispose]();
    await lab?.[Symbol.asyncDispose]();
  });

  const whole = (address: string) => makeService({ addresses: [address] });
  const ports = (icmp: string) =>
    makeService({
      addresses: [at.overOne],
      annotations: { [wholeIpAnnotation]: "ports", [allowIcmpAnnotation]: icmp },
      spec: { ports: [{ port: 80 }] },
    });
  const onA = { "demo/web": [makeSlice(endpointOf(at.a, "one"))] };
  const seen = async (host: Host, verb: string, to: string, port = 80) =>
    await lab.tell[host](verb, { to, port }).catch(() => "nothing");

  describe("the whole address of a pod", () => {
    beforeAll(async () => await nodes.are([whole(at.overOne)], onA));

    type Row = [title: string, from: Host, verb: string, to: string, port: number, seen: string];
    const rows: Row[] = [
      ["a client outside reaches it by TCP, and is seen as itself", "outside", "tcp", at.overOne, 80, at.outside],
      ["on a port that the Service does not have", "outside", "tcp", at.overOne, 8080, at.outside],
      ["by UDP", "outside", "udp", at.overOne, 8080, at.outside],
      ["by ping", "outside", "ping", at.overOne, 0, "answered"],
      ["the pod goes out with it by TCP", "a", "tcp", at.outside, 80, at.overOne],
      ["and by UDP", "a", "udp", at.outside, 80, at.overOne],
      ["and by ping", "a", "ping", at.outside, 0, "answered"],
      ["its neighbour goes out with the node's address, as before", "b", "tcp", at.outside, 80, at.one],
      ["a probe of the node reaches the pod's own address", "one", "tcp", at.a, 8080, at.one],
      ["the node reaches the Service's address", "one", "tcp", at.overOne, 80, at.one],
      ["another node reaches it", "two", "tcp", at.overOne, 80, at.two],
      ["another node reaches the pod's own address", "two", "tcp", at.a, 80, at.two],
      ["a neighbour reaches the pod's own address", "b", "tcp", at.a, 80, at.b],
      ["a neighbour reaches the Service's address", "b", "tcp", at.overOne, 8080, at.b],
      ["a neighbour by UDP", "b", "udp", at.overOne, 8080, at.b],
      ["a pod elsewhere reaches the pod's own address", "c", "tcp", at.a, 80, at.c],
      ["a pod elsewhere reaches the Service's address", "c", "tcp", at.overOne, 8080, at.c],
      ["a pod elsewhere by ping", "c", "ping", at.overOne, 0, "answered"],
      ["the pod reaches itself by the Service's address", "a", "tcp", at.overOne, 80, at.overOne],
      ["the pod reaches a pod elsewhere as itself", "a", "tcp", at.c, 80, at.a],
      ["the pod reaches a node as itself", "a", "tcp", at.two, 80, at.a],
      ["a neighbour reaches the cluster IP", "b", "tcp", at.clusterIP, 80, at.b],
      ["a pod elsewhere reaches the cluster IP", "c", "tcp", at.clusterIP, 80, at.c],
      ["a node reaches the cluster IP", "two", "tcp", at.clusterIP, 80, at.two],
    ];
    test.each(rows)("%s", async (_, from, verb, to, port, expected) => {
      expect(await seen(from, verb, to, port)).toBe(expected);
    });
  });

  describe("the ports of a pod", () => {
    beforeAll(async () => await nodes.are([ports("false")], onA));

    const rows: [string, Host, string, string, number, string][] = [
      ["a port of the Service is open", "outside", "tcp", at.overOne, 80, at.outside],
      ["another one is not", "outside", "tcp", at.overOne, 8080, "nothing"],
      ["another protocol is not", "outside", "udp", at.overOne, 80, "nothing"],
      ["ping is not", "outside", "ping", at.overOne, 0, "nothing"],
      ["the filter holds on other nodes for their pods", "c", "tcp", at.overOne, 8080, "nothing"],
      ["what it allows passes there", "c", "tcp", at.overOne, 80, at.c],
      ["the filter holds for a node", "two", "tcp", at.overOne, 8080, "nothing"],
      ["a probe of another port passes", "one", "tcp", at.a, 8080, at.one],
      ["a pod elsewhere reaches any port of the pod's own address", "c", "tcp", at.a, 8080, at.c],
      ["the pod goes out, and is answered", "a", "tcp", at.outside, 8080, at.overOne],
      ["by UDP too", "a", "udp", at.outside, 8080, at.overOne],
    ];
    test.each(rows)("%s", async (_, from, verb, to, port, expected) => {
      expect(await seen(from, verb, to, port)).toBe(expected);
    });

    test("ping, once it is allowed", async () => {
      await nodes.are([ports("true")], onA);
      expect([await seen("outside", "ping", at.overOne), await seen("outside", "tcp", at.overOne, 8080)]).toEqual([
        "answered",
        "nothing",
      ]);
    });
  });

  test("over a node without the pod: clients from outside, when the Service takes them there", async () => {
    const service = (externalTrafficPolicy: string) =>
      makeService({ addresses: [at.overTwo], spec: { externalTrafficPolicy } });
    await nodes.are([service("Local")], onA);
    expect(await seen("outside", "tcp", at.overTwo)).toBe("nothing");
    await nodes.are([service("Cluster")], onA);
    expect(await seen("outside", "tcp", at.overTwo)).toBe(at.two);
    expect(await seen("outside", "ping", at.overTwo)).toBe("answered");
  });
});
