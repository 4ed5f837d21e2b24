import { describe, expect, test } from "bun:test";
import { proxyConsumerService, tunnelConsumerService } from "../../../src/desired/consumer-service.ts";
import { pairProxy } from "../../../src/desired/pair.ts";
import { rendezvousService } from "../../../src/desired/rendezvous-service.ts";
import { isOrphanOf } from "../../../src/plan/ownership.ts";
import { makeProxy, makeService, makeTunnel, ourLabels } from "../../support/objects.ts";

const service = {
  name: "api",
  port: 443,
  type: "LoadBalancer" as const,
  annotations: { "example.net/scheme": "internal" },
  labels: { team: "red", "app.kubernetes.io/name": "mine" },
  nodePort: 31443,
  loadBalancerClass: "example.net/lb",
  sessionAffinity: "ClientIP" as const,
  trafficDistribution: "PreferClose" as const,
  internalTrafficPolicy: "Cluster" as const,
  externalTrafficPolicy: "Local" as const,
  ipFamilyPolicy: "SingleStack" as const,
};

describe("the consumer Service", () => {
  const full = {
    type: "LoadBalancer",
    ipFamilyPolicy: "SingleStack",
    loadBalancerClass: "example.net/lb",
    sessionAffinity: "ClientIP",
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } },
    trafficDistribution: "PreferClose",
    internalTrafficPolicy: "Cluster",
    externalTrafficPolicy: "Local",
  };
  const ports = [
    { name: "consumers", protocol: "TCP", appProtocol: "tcp", port: 443, targetPort: "consumers", nodePort: 31443 },
  ];

  test("of a Tunnel says all that its spec says, and labels of ours win", () => {
    const made = tunnelConsumerService(makeTunnel({ service }));
    expect(made.spec).toEqual({
      ...full,
      selector: { "app.kubernetes.io/component": "proxy", "netaminity.exeteres.net/tunnel": "api" },
      ports,
    });
    expect(made.metadata.annotations).toEqual(service.annotations);
    expect(made.metadata.labels).toEqual({ ...ourLabels, team: "red", "netaminity.exeteres.net/tunnel": "api" });
  });

  test("of a Proxy does so too", () => {
    expect(proxyConsumerService(makeProxy({ service }))?.spec).toMatchObject({ ...full, ports });
  });

  test("has no affinity to be configured without one", () => {
    const { spec } = tunnelConsumerService(makeTunnel({ service: { name: "api", port: 1, sessionAffinity: "None" } }));
    expect(spec).toMatchObject({ sessionAffinity: "None" });
    expect(spec).not.toHaveProperty("sessionAffinityConfig");
  });

  test("is taken back from an owner of this name whose spec had other labels", () => {
    const tunnel = makeTunnel({ service });
    const left = makeService("api", {
      labels: { ...ourLabels, "netaminity.exeteres.net/tunnel": "api", team: "blue" },
    });
    expect(isOrphanOf(left, tunnelConsumerService(tunnel))).toBe(true);
    const foreign = makeService("api", { labels: { ...ourLabels, "netaminity.exeteres.net/tunnel": "web" } });
    expect(isOrphanOf(foreign, tunnelConsumerService(tunnel))).toBe(false);
  });
});

test("the rendezvous Service of a pair has the traffic policy of the Tunnel", () => {
  const proxyService = {
    type: "NodePort" as const,
    externalTrafficPolicy: "Local" as const,
    externalHost: "a.example",
  };
  const tunnel = makeTunnel({ proxy: { replicas: 1, acceptProxyProtocol: false, proxyService } });
  const { spec } = pairProxy(tunnel, 0, "optional");
  expect(spec.proxyService).toEqual(proxyService);
  expect(rendezvousService(makeProxy(spec)).spec).toMatchObject({ externalTrafficPolicy: "Local" });
});
