import { describe, expect, test } from "bun:test";
import type { ProxySpec } from "../../../src/api/proxy.ts";
import { bad } from "../../../src/plan/conditions.ts";
import { type Endpoint, rendezvousEndpoint } from "../../../src/plan/endpoint.ts";
import type { ObservedService } from "../../../src/plan/observed.ts";
import { makeProxy, makeService } from "../../support/objects.ts";

const service = (spec: NonNullable<ObservedService["spec"]>, ingress: { ip?: string; hostname?: string }[] = []) =>
  makeService("edge-rendezvous", { spec, status: { loadBalancer: { ingress } } });
const nodePortService = (nodePort: number) => service({ type: "NodePort", ports: [{ port: 7835, nodePort }] });

const noPort = { unknown: bad("EndpointPending", "the rendezvous Service has no node port yet") };
const noAddress = {
  unknown: bad("EndpointPending", "the load balancer of Service edge-rendezvous has no address yet"),
};

const noStatus = {
  ...{ observedGeneration: 3, conditions: [] },
  ...{ replicas: 1, liveReplicas: 1, readyReplicas: 1, updatedReplicas: 1 },
};

interface Case {
  proxyService: ProxySpec["proxyService"];
  service?: ObservedService;
  proxyHost?: string;
  /** What the status says. */
  present?: string;
  endpoint: Endpoint;
}

const cases: Record<string, Case> = {
  "ClusterIP is known from the start": {
    proxyService: { type: "ClusterIP" },
    endpoint: { known: "edge-rendezvous.demo.svc:7835" },
  },
  "NodePort needs the host of the nodes": {
    proxyService: { type: "NodePort", nodePort: 31035 },
    service: nodePortService(31035),
    endpoint: {
      unknown: bad(
        "ProxyHostMissing",
        "a rendezvous Service of type NodePort needs the host under which the nodes are reached: set spec.proxyService.externalHost, or for all the chart value config.proxyHost (NETAMINITY_PROXY_HOST)",
      ),
    },
  },
  "NodePort with a port that was asked for": {
    proxyService: { type: "NodePort", nodePort: 31035 },
    service: nodePortService(31035),
    proxyHost: "nodes.example.net",
    endpoint: { known: "nodes.example.net:31035" },
  },
  "NodePort with a port that the cluster chose": {
    proxyService: { type: "NodePort" },
    service: nodePortService(30712),
    proxyHost: "192.0.2.1",
    endpoint: { known: "192.0.2.1:30712" },
  },
  "a host of its own, which beats that of all nodes": {
    proxyService: { type: "NodePort", externalHost: "site-a.example.net" },
    service: nodePortService(30712),
    proxyHost: "192.0.2.1",
    endpoint: { known: "site-a.example.net:30712" },
  },
  "a host of its own without one of all nodes": {
    proxyService: { type: "NodePort", externalHost: "2001:db8::7" },
    service: nodePortService(30712),
    endpoint: { known: "[2001:db8::7]:30712" },
  },
  "a name in front of a load balancer, in the place of its address": {
    proxyService: { type: "LoadBalancer", externalHost: "tunnel.example.net" },
    service: service({ type: "LoadBalancer" }, [{ ip: "192.0.2.9" }]),
    present: "192.0.2.9:7835",
    endpoint: { known: "tunnel.example.net:7835" },
  },
  "a name in front of a load balancer that has no address": {
    proxyService: { type: "LoadBalancer", externalHost: "tunnel.example.net" },
    service: service({ type: "LoadBalancer" }),
    endpoint: { known: "tunnel.example.net:7835" },
  },
  "an IPv6 host gets brackets": {
    proxyService: { type: "NodePort" },
    service: nodePortService(30712),
    proxyHost: "fd00::1",
    endpoint: { known: "[fd00::1]:30712" },
  },
  "an IPv6 host in brackets keeps them": {
    proxyService: { type: "NodePort" },
    service: nodePortService(30712),
    proxyHost: "[fd00::1]",
    endpoint: { known: "[fd00::1]:30712" },
  },
  "NodePort before its Service exists": {
    proxyService: { type: "NodePort" },
    proxyHost: "nodes.example.net",
    endpoint: noPort,
  },
  "NodePort while the Service still has another port than asked for": {
    proxyService: { type: "NodePort", nodePort: 31036 },
    service: nodePortService(31035),
    proxyHost: "nodes.example.net",
    endpoint: noPort,
  },
  "NodePort while the Service is still of the old type": {
    proxyService: { type: "NodePort" },
    service: service({ type: "LoadBalancer", ports: [{ port: 7835, nodePort: 30712 }] }, [{ ip: "192.0.2.9" }]),
    proxyHost: "nodes.example.net",
    endpoint: noPort,
  },
  "LoadBalancer with an address": {
    proxyService: { type: "LoadBalancer" },
    service: service({ type: "LoadBalancer" }, [{ ip: "192.0.2.9" }]),
    endpoint: { known: "192.0.2.9:7835" },
  },
  "LoadBalancer with an IPv6 address": {
    proxyService: { type: "LoadBalancer" },
    service: service({ type: "LoadBalancer" }, [{ ip: "2001:db8::9" }]),
    endpoint: { known: "[2001:db8::9]:7835" },
  },
  "LoadBalancer with a host name": {
    proxyService: { type: "LoadBalancer" },
    service: service({ type: "LoadBalancer" }, [{ ip: "", hostname: "lb.example.net" }]),
    endpoint: { known: "lb.example.net:7835" },
  },
  "LoadBalancer without an address yet": {
    proxyService: { type: "LoadBalancer" },
    service: service({ type: "LoadBalancer" }),
    endpoint: noAddress,
  },
  "LoadBalancer whose first entry says nothing": {
    proxyService: { type: "LoadBalancer" },
    service: service({ type: "LoadBalancer" }, [{}, { ip: "192.0.2.9" }]),
    endpoint: { known: "192.0.2.9:7835" },
  },
  "LoadBalancer whose addresses come in another order: the present one stays": {
    proxyService: { type: "LoadBalancer" },
    service: service({ type: "LoadBalancer" }, [{ ip: "192.0.2.8" }, { ip: "192.0.2.9" }]),
    present: "192.0.2.9:7835",
    endpoint: { known: "192.0.2.9:7835" },
  },
  "LoadBalancer that has lost the present address": {
    proxyService: { type: "LoadBalancer" },
    service: service({ type: "LoadBalancer" }, [{ ip: "192.0.2.8" }]),
    present: "192.0.2.9:7835",
    endpoint: { known: "192.0.2.8:7835" },
  },
  "LoadBalancer before its Service exists": { proxyService: { type: "LoadBalancer" }, endpoint: noAddress },
};

describe("the rendezvous endpoint", () => {
  for (const [title, { proxyService, service: observed, proxyHost, present, endpoint }] of Object.entries(cases)) {
    test(title, () => {
      const status = present === undefined ? undefined : { ...noStatus, proxyEndpoint: present };
      const proxy = makeProxy({ proxyService }, status && { status });
      expect(rendezvousEndpoint(proxy, observed, proxyHost)).toEqual(endpoint);
    });
  }
});
