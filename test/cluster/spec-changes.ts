import type { Resource } from "../../src/kube/resources.ts";
import { resources } from "../../src/operator/resources.ts";
import type { Anything } from "./objects.ts";
import { environmentOf, podOf, podTemplateChanges, type SpecChange } from "./spec-template.ts";

// Every field of the three specs, each with where it shows. The rows of one table are made in turn on one object.

const proxyDeployment: [Resource, string] = [resources.deployment, "db-proxy"];
const rendezvous: [Resource, string] = [resources.service, "db-rendezvous"];
export const proxyChanges: Record<string, SpecChange> = {
  replicas: { change: { replicas: 3 }, child: proxyDeployment, shows: (d) => d.spec.replicas, as: 3 },
  "secretRef.name": {
    change: { secretRef: { name: "other-key" } },
    child: proxyDeployment,
    shows: (d) => podOf(d).volumes[0].projected.sources[0].secret.name,
    as: "other-key",
  },
  "service.port": {
    change: { service: { port: 8001 } },
    child: [resources.service, "db"],
    shows: (s) => s.spec.ports.map((port: Anything) => port.port),
    as: [8001],
  },
  "service.name": {
    change: { service: { name: "sql" } },
    child: [resources.service, "sql"],
    shows: (s) => s.spec.ports[0].port,
    as: 8001,
  },
  acceptProxyProtocol: {
    change: { acceptProxyProtocol: true },
    child: proxyDeployment,
    shows: environmentOf("NETAMINITY_ACCEPT_PROXY_PROTOCOL"),
    as: "true",
  },
  encryption: {
    change: { encryption: "required" },
    child: proxyDeployment,
    shows: environmentOf("NETAMINITY_ENCRYPTION"),
    as: "required",
  },
  "encryption back": {
    change: { encryption: "optional" },
    child: proxyDeployment,
    shows: environmentOf("NETAMINITY_ENCRYPTION"),
    as: undefined,
  },
  drainTimeout: {
    change: { drainTimeout: "2m" },
    child: proxyDeployment,
    shows: (d) => [environmentOf("NETAMINITY_DRAIN_TIMEOUT")(d), podOf(d).terminationGracePeriodSeconds > 120],
    as: ["120s", true],
  },
  "proxyService.annotations": {
    change: { proxyService: { annotations: { cloud: "x" } } },
    child: rendezvous,
    shows: (s) => s.metadata.annotations.cloud,
    as: "x",
  },
  "proxyService.annotations removed": {
    change: { proxyService: { annotations: null } },
    child: rendezvous,
    shows: (s) => s.metadata.annotations.cloud,
    as: undefined,
  },
  "proxyService.type and class": {
    change: { proxyService: { type: "LoadBalancer", loadBalancerClass: "example.net/lb" } },
    child: rendezvous,
    shows: (s) => [s.spec.type, s.spec.loadBalancerClass],
    as: ["LoadBalancer", "example.net/lb"],
  },
  "proxyService.loadBalancerSourceRanges": {
    change: { proxyService: { loadBalancerSourceRanges: ["192.0.2.0/24"] } },
    child: rendezvous,
    shows: (s) => s.spec.loadBalancerSourceRanges,
    as: ["192.0.2.0/24"],
  },
  "proxyService.type and nodePort": {
    change: {
      proxyService: { type: "NodePort", nodePort: 31140, loadBalancerClass: null, loadBalancerSourceRanges: null },
    },
    child: rendezvous,
    shows: (s) => [s.spec.type, s.spec.ports[0].nodePort],
    as: ["NodePort", 31140],
  },
  ...podTemplateChanges((podTemplate) => ({ podTemplate }), "db-proxy"),
};

const targetDeployment: [Resource, string] = [resources.deployment, "db-target"];
export const targetChanges: Record<string, SpecChange> = {
  replicas: { change: { replicas: 2 }, child: targetDeployment, shows: (d) => d.spec.replicas, as: 2 },
  "secretRef.name": {
    change: { secretRef: { name: "other-key" } },
    child: targetDeployment,
    shows: (d) => podOf(d).volumes[0].projected.sources[0].secret.name,
    as: "other-key",
  },
  endpoint: {
    change: { endpoint: "[fd00::1]:5432" },
    child: targetDeployment,
    shows: environmentOf("NETAMINITY_ENDPOINT"),
    as: "[fd00::1]:5432",
  },
  proxyEndpoint: {
    change: { proxyEndpoint: "10.0.0.9:31000" },
    child: targetDeployment,
    shows: environmentOf("NETAMINITY_PROXY_ENDPOINT"),
    as: "10.0.0.9:31000",
  },
  sendProxyProtocol: {
    change: { sendProxyProtocol: "v2" },
    child: targetDeployment,
    shows: environmentOf("NETAMINITY_SEND_PROXY_PROTOCOL"),
    as: "v2",
  },
  encryption: {
    change: { encryption: "required" },
    child: targetDeployment,
    shows: environmentOf("NETAMINITY_ENCRYPTION"),
    as: "required",
  },
  "encryption back": {
    change: { encryption: "off" },
    child: targetDeployment,
    shows: environmentOf("NETAMINITY_ENCRYPTION"),
    as: undefined,
  },
  drainTimeout: {
    change: { drainTimeout: "5s" },
    child: targetDeployment,
    shows: environmentOf("NETAMINITY_DRAIN_TIMEOUT"),
    as: "5s",
  },
  ...podTemplateChanges((podTemplate) => ({ podTemplate }), "db-target"),
};

const pairProxyDeployment: [Resource, string] = [resources.deployment, "web-0-proxy"];
const pairTargetDeployment: [Resource, string] = [resources.deployment, "web-0-target"];
const selectorOf = (d: Anything) => podOf(d).nodeSelector;
export const tunnelChanges: Record<string, SpecChange> = {
  "service.port": {
    change: { service: { port: 8001 } },
    child: [resources.service, "web"],
    shows: (s) => s.spec.ports[0].port,
    as: 8001,
  },
  "service.name": {
    change: { service: { name: "www" } },
    child: [resources.service, "www"],
    shows: (s) => s.spec.ports[0].port,
    as: 8001,
  },
  "target.endpoint": {
    change: { target: { endpoint: "sql.demo.svc:5432" } },
    child: pairTargetDeployment,
    shows: environmentOf("NETAMINITY_ENDPOINT"),
    as: "sql.demo.svc:5432",
  },
  "target.sendProxyProtocol": {
    change: { target: { sendProxyProtocol: "v1" } },
    child: pairTargetDeployment,
    shows: environmentOf("NETAMINITY_SEND_PROXY_PROTOCOL"),
    as: "v1",
  },
  "proxy.replicas": {
    change: { proxy: { replicas: 2 } },
    child: pairProxyDeployment,
    shows: (d) => d.spec.replicas,
    as: 2,
  },
  "proxy.acceptProxyProtocol": {
    change: { proxy: { acceptProxyProtocol: true } },
    child: pairProxyDeployment,
    shows: environmentOf("NETAMINITY_ACCEPT_PROXY_PROTOCOL"),
    as: "true",
  },
  "encryption, at the proxy, which comes last": {
    change: { encryption: "required" },
    child: pairProxyDeployment,
    shows: environmentOf("NETAMINITY_ENCRYPTION"),
    as: "required",
  },
  "encryption off, at the target, which comes last": {
    change: { encryption: "off" },
    child: pairTargetDeployment,
    shows: environmentOf("NETAMINITY_ENCRYPTION"),
    as: undefined,
  },
  drainTimeout: {
    change: { drainTimeout: "1m" },
    child: pairTargetDeployment,
    shows: environmentOf("NETAMINITY_DRAIN_TIMEOUT"),
    as: "60s",
  },
  "podTemplate for both, at the proxy": {
    change: { podTemplate: { nodeSelector: { zone: "shared" } } },
    child: pairProxyDeployment,
    shows: selectorOf,
    as: { zone: "shared" },
  },
  "podTemplate for both, at the target": {
    change: {},
    child: pairTargetDeployment,
    shows: selectorOf,
    as: { zone: "shared" },
  },
  "proxy.podTemplate over it": {
    change: { proxy: { podTemplate: { nodeSelector: { zone: "cloud" } } } },
    child: pairProxyDeployment,
    shows: selectorOf,
    as: { zone: "cloud" },
  },
  "target.podTemplate over it": {
    change: { target: { podTemplate: { nodeSelector: { zone: "private" } } } },
    child: pairTargetDeployment,
    shows: selectorOf,
    as: { zone: "private" },
  },
  "proxy.podTemplate taken off": {
    change: { proxy: { podTemplate: null } },
    child: pairProxyDeployment,
    shows: selectorOf,
    as: { zone: "shared" },
  },
  "proxy.proxyService": {
    change: { proxy: { proxyService: { type: "NodePort", nodePort: 31150 } } },
    child: [resources.service, "web-0-rendezvous"],
    shows: (s) => s.spec.ports[0].nodePort,
    as: 31150,
  },
  "proxy.proxyService, at the target": {
    change: {},
    child: pairTargetDeployment,
    shows: environmentOf("NETAMINITY_PROXY_ENDPOINT"),
    as: "nodes:31150",
  },
  "proxy.proxyService back": {
    change: { proxy: { proxyService: { type: "ClusterIP", nodePort: null } } },
    child: [resources.service, "web-0-rendezvous"],
    shows: (s) => [s.spec.type, s.spec.ports[0].nodePort],
    as: ["ClusterIP", undefined],
  },
  replicas: {
    change: { replicas: 2 },
    child: [resources.service, "web-1-rendezvous"],
    shows: (s) => s.spec.type,
    as: "ClusterIP",
  },
  paused: {
    change: { paused: true },
    child: [resources.proxy, "web-1"],
    shows: (p) => p.spec.paused,
    as: true,
  },
  "paused, of the targets": {
    change: {},
    child: [resources.target, "web-1"],
    shows: (t) => t.spec.paused,
    as: true,
  },
  "paused no more": {
    change: { paused: null },
    child: [resources.target, "web-1"],
    shows: (t) => t.spec.paused,
    as: undefined,
  },
};
