import { describe, expect, test } from "bun:test";
import type { ProxyStatus } from "../../../src/api/proxy.ts";
import { planProxy } from "../../../src/plan/proxy.ts";
import { manifest, meetingOf, otherObjects } from "../../../src/share/other-side.ts";
import { makeProxy } from "../../support/objects.ts";
import { makeProxyInput } from "../../support/proxy-input.ts";

const status: ProxyStatus = { ...planProxy(makeProxyInput()).status, proxyEndpoint: "proxy.example.net:7835" };
const elsewhere = { inCluster: false };

describe("where the other side meets a Proxy", () => {
  const proxy = (change: Partial<ProxyStatus> = {}, type: "LoadBalancer" | "ClusterIP" = "LoadBalancer") =>
    makeProxy({ proxyService: { type } }, { status: { ...status, ...change } });

  test("is its endpoint", () => {
    expect(meetingOf(proxy(), elsewhere)).toEqual({ endpoint: { host: "proxy.example.net", port: 7835 } });
  });

  test("is not known while the status is about an earlier generation: it may be where the Proxy was", () => {
    expect(meetingOf(proxy({ observedGeneration: 2 }), elsewhere)).toEqual({ wait: "Proxy edge has no endpoint yet" });
  });

  test("is not known while the Proxy itself waits for it, which says why", () => {
    const { proxyEndpoint: _, ...without } = status;
    const waiting = makeProxy({ proxyService: { type: "LoadBalancer" } }, { status: without });
    expect(meetingOf(waiting, elsewhere)).toEqual({
      wait: "Proxy edge has no endpoint yet (Available: targets can connect to edge-rendezvous.demo.svc:7835)",
    });
  });

  test("is refused where only its own cluster reaches it, unless the other side is there", () => {
    expect(meetingOf(proxy({}, "ClusterIP"), elsewhere)).toHaveProperty("refusal");
    expect(meetingOf(proxy({}, "ClusterIP"), { inCluster: true })).toHaveProperty("endpoint");
  });
});

test("both objects go into the namespace that is asked for, and words that kubectl would misread are quoted", () => {
  const objects = otherObjects({
    ...{ name: "off", namespace: "on", secret: "ä" },
    proxyEndpoint: { host: "2001:db8::7", port: 7835 },
    backend: { host: "db", port: 5432 },
    encryption: "off",
  });
  expect(manifest(objects)).toBe(`apiVersion: v1
kind: Secret
metadata:
  name: off-tunnel
  namespace: "on"
type: Opaque
data:
  secret: w6Q=
---
apiVersion: netaminity.exeteres.net/v1
kind: Target
metadata:
  name: "off"
  namespace: "on"
spec:
  secretRef:
    name: off-tunnel
  endpoint: db:5432
  proxyEndpoint: "[2001:db8::7]:7835"
  encryption: "off"
`);
});
