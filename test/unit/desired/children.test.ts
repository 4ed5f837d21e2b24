import { describe, expect, test } from "bun:test";
import { hashOf, isApplied, withHash } from "../../../src/desired/applied.ts";
import { proxyConsumerService, tunnelConsumerService } from "../../../src/desired/consumer-service.ts";
import { durationSeconds } from "../../../src/desired/duration.ts";
import { endpointSlices } from "../../../src/desired/endpoint-slice.ts";
import {
  endpointSliceName,
  pairName,
  proxyDeploymentName,
  rendezvousServiceName,
  targetDeploymentName,
  tunnelSecretName,
} from "../../../src/desired/names.ts";
import { pairProxy, pairTarget } from "../../../src/desired/pair.ts";
import { rendezvousService } from "../../../src/desired/rendezvous-service.ts";
import { ownSecret } from "../../../src/desired/secret.ts";
import { controllerReference, makeProxy, makeTunnel, ourLabels } from "../../support/objects.ts";

const group = "netaminity.exeteres.net";
const proxyLabels = { ...ourLabels, "app.kubernetes.io/component": "proxy", [`${group}/proxy`]: "edge" };

describe("the consumer Service", () => {
  test("of a Tunnel selects the proxy pods of all its pairs", () => {
    const tunnel = makeTunnel();
    expect(tunnelConsumerService(tunnel)).toEqual({
      apiVersion: "v1",
      kind: "Service",
      metadata: {
        name: "api",
        namespace: "demo",
        labels: { ...ourLabels, [`${group}/tunnel`]: "api" },
        ownerReferences: [controllerReference(tunnel)],
      },
      spec: {
        type: "ClusterIP",
        ipFamilyPolicy: "PreferDualStack",
        selector: { "app.kubernetes.io/component": "proxy", [`${group}/tunnel`]: "api" },
        ports: [{ name: "consumers", protocol: "TCP", appProtocol: "tcp", port: 30080, targetPort: "consumers" }],
      },
    });
  });

  test("of a Proxy selects its own pods, and exists only when it is asked for", () => {
    expect(proxyConsumerService(makeProxy({ service: { name: "db", port: 5432 } }))).toMatchObject({
      metadata: { name: "db" },
      spec: {
        selector: { "app.kubernetes.io/component": "proxy", [`${group}/proxy`]: "edge" },
        ports: [{ port: 5432 }],
      },
    });
    expect(proxyConsumerService(makeProxy())).toBeUndefined();
  });
});

describe("the rendezvous Service", () => {
  test("has no selector", () => {
    const proxy = makeProxy({ proxyService: { type: "NodePort", nodePort: 31035 } });
    expect(rendezvousService(proxy)).toEqual({
      apiVersion: "v1",
      kind: "Service",
      metadata: {
        name: "edge-rendezvous",
        namespace: "demo",
        labels: proxyLabels,
        ownerReferences: [controllerReference(proxy)],
      },
      spec: {
        type: "NodePort",
        ipFamilyPolicy: "PreferDualStack",
        ports: [
          { name: "rendezvous", protocol: "TCP", appProtocol: "tcp", port: 7835, targetPort: 7835, nodePort: 31035 },
        ],
      },
    });
  });

  test("carries what a load balancer needs", () => {
    const proxyService = {
      type: "LoadBalancer" as const,
      annotations: { "example.net/scheme": "internet-facing" },
      loadBalancerClass: "example.net/lb",
      loadBalancerSourceRanges: ["192.0.2.0/24"],
    };
    const service = rendezvousService(makeProxy({ proxyService }));
    expect(service.metadata.annotations).toEqual(proxyService.annotations);
    expect(service.spec).toMatchObject({
      type: "LoadBalancer",
      loadBalancerClass: "example.net/lb",
      loadBalancerSourceRanges: ["192.0.2.0/24"],
    });
  });
});

describe("the EndpointSlices", () => {
  const proxy = makeProxy();
  const active = {
    pod: { name: "edge-a", uid: "u1" },
    containerId: "containerd://1",
    attempt: undefined,
    nodeName: "n1",
    addresses: [
      { family: "IPv4", address: "10.1.0.1" },
      { family: "IPv6", address: "fd00::1" },
    ] as const,
  };

  test("lead to exactly one pod, one slice per address family", () => {
    const [first, second, ...more] = endpointSlices(proxy, active);
    expect(first).toEqual({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        name: "edge-rendezvous-ipv4",
        namespace: "demo",
        labels: {
          ...proxyLabels,
          "kubernetes.io/service-name": "edge-rendezvous",
          "endpointslice.kubernetes.io/managed-by": group,
        },
        annotations: { [`${group}/active-container`]: "containerd://1" },
        ownerReferences: [controllerReference(proxy)],
      },
      addressType: "IPv4",
      endpoints: [
        {
          addresses: ["10.1.0.1"],
          conditions: { ready: true, serving: true, terminating: false },
          nodeName: "n1",
          targetRef: { kind: "Pod", namespace: "demo", name: "edge-a", uid: "u1" },
        },
      ],
      ports: [{ name: "rendezvous", protocol: "TCP", appProtocol: "tcp", port: 7835 }],
    });
    expect(second).toMatchObject({
      metadata: { name: "edge-rendezvous-ipv6" },
      addressType: "IPv6",
      endpoints: [{ addresses: ["fd00::1"] }],
    });
    expect(more).toEqual([]);
  });

  test("are none without an active pod", () => {
    expect(endpointSlices(proxy, undefined)).toEqual([]);
  });
});

test("the Secret of a Tunnel holds the text that the agents read", () => {
  const tunnel = makeTunnel();
  expect(ownSecret(tunnel, "c2VjcmV0")).toEqual({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: "api-secret",
      namespace: "demo",
      labels: { ...ourLabels, [`${group}/tunnel`]: "api" },
      ownerReferences: [controllerReference(tunnel)],
    },
    type: "Opaque",
    data: { secret: btoa("c2VjcmV0") },
  });
});

describe("a pair of a Tunnel", () => {
  const tunnel = makeTunnel({
    drainTimeout: "5m",
    podTemplate: {
      distributeByNodes: false,
      hostNetwork: false,
      priorityClassName: "low",
      nodeSelector: { os: "linux" },
    },
    proxy: {
      replicas: 2,
      proxyService: { type: "NodePort", nodePort: 31035, annotations: { a: "b" } },
      acceptProxyProtocol: true,
      podTemplate: { nodeSelector: { zone: "cloud" } },
    },
    target: { replicas: 2, endpoint: "backend:80", sendProxyProtocol: "v1", podTemplate: { hostNetwork: true } },
  });
  const metadata = {
    name: "api-1",
    namespace: "demo",
    labels: { ...ourLabels, [`${group}/tunnel`]: "api", [`${group}/index`]: "1" },
    ownerReferences: [controllerReference(tunnel)],
  };

  test("has a Proxy with the port of its index and the proxy side's fields over the shared ones", () => {
    expect(pairProxy(tunnel, 1, "required")).toEqual({
      apiVersion: `${group}/v1`,
      kind: "Proxy",
      metadata,
      spec: {
        replicas: 2,
        secretRef: { name: "api-secret" },
        proxyService: { type: "NodePort", nodePort: 31036, annotations: { a: "b" } },
        encryption: "required",
        acceptProxyProtocol: true,
        drainTimeout: "5m",
        podTemplate: {
          distributeByNodes: false,
          hostNetwork: false,
          priorityClassName: "low",
          nodeSelector: { zone: "cloud" },
        },
      },
    });
  });

  test("has a Target that dials its own Proxy", () => {
    expect(pairTarget(tunnel, 1, "nodes.example.net:31036", "required")).toEqual({
      apiVersion: `${group}/v1`,
      kind: "Target",
      metadata,
      spec: {
        replicas: 2,
        secretRef: { name: "api-secret" },
        endpoint: "backend:80",
        proxyEndpoint: "nodes.example.net:31036",
        encryption: "required",
        sendProxyProtocol: "v1",
        drainTimeout: "5m",
        podTemplate: {
          distributeByNodes: false,
          hostNetwork: true,
          priorityClassName: "low",
          nodeSelector: { os: "linux" },
        },
      },
    });
  });

  test("has no podTemplate when nobody gives one", () => {
    expect("podTemplate" in pairProxy(makeTunnel(), 0, "optional").spec).toBe(false);
  });
});

test("the names of all children of the longest allowed names fit into a label", () => {
  const tunnel = "t".repeat(49);
  const proxy = "p".repeat(52);
  const names = [
    pairName(tunnel, 63),
    tunnelSecretName(tunnel),
    rendezvousServiceName(pairName(tunnel, 63)),
    rendezvousServiceName(proxy),
    proxyDeploymentName(proxy),
    targetDeploymentName(proxy),
  ];
  expect(names.filter((name) => name.length > 63)).toEqual([]);
  expect(endpointSliceName("edge", "IPv6")).toBe("edge-rendezvous-ipv6");
});

test("drain timeouts are read as the CRD lets them be written", () => {
  expect(["0s", "30s", "5m", "24h", "30", "", "1m30s"].map(durationSeconds)).toEqual([
    0,
    30,
    300,
    86400,
    undefined,
    undefined,
    undefined,
  ]);
});

describe("the hash of what was applied", () => {
  const wanted = rendezvousService(makeProxy());

  test("tells whether an object was made from this very wish", () => {
    const { annotations = {} } = withHash(wanted).metadata;
    expect(isApplied(wanted, { metadata: { annotations } })).toBe(true);
    expect(
      isApplied(rendezvousService(makeProxy({ proxyService: { type: "NodePort" } })), { metadata: { annotations } }),
    ).toBe(false);
    expect(isApplied(wanted, undefined)).toBe(false);
  });

  test("does not depend on the order of keys, but on that of lists", () => {
    expect(hashOf({ a: 1, b: { c: 2, d: 3 } })).toBe(hashOf({ b: { d: 3, c: 2 }, a: 1 }));
    expect(hashOf([1, 2])).not.toBe(hashOf([2, 1]));
  });
});
