/** What the role `node` sees of a cluster: two nodes, and Services that each test makes. */
import { parseCidrs } from "../../src/node/address.ts";
import { wholeIpAnnotation } from "../../src/node/names.ts";
import type { NodeState, ObservedNode, ObservedService, ObservedSlice } from "../../src/node/observed.ts";
import { type NodePlan, type NodeSettings, planNode } from "../../src/node/plan.ts";

export const settings: NodeSettings = {
  node: "one",
  podCidrs: [],
  serviceCidrs: parseCidrs(["10.96.0.0/16", "fd96::/112"]),
  apiServer: ["192.0.2.9"],
  compatCozystack: false,
};

export function makeNode(name: string, index: number): ObservedNode {
  return {
    metadata: { name, uid: `uid-of-${name}` },
    spec: { podCIDRs: [`10.244.${index}.0/24`, `fd44:0:0:${index}::/64`] },
    status: {
      addresses: [
        { type: "InternalIP", address: `192.0.2.${index}` },
        { type: "InternalIP", address: `2001:db8::${index}` },
        { type: "Hostname", address: name },
      ],
    },
  };
}

export const nodes = [makeNode("one", 1), makeNode("two", 2)];

interface ServiceOptions {
  name?: string;
  addresses?: readonly string[];
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
  created?: string;
  spec?: ObservedService["spec"];
}

export function makeService(given: ServiceOptions = {}): ObservedService {
  const { name = "web", addresses = ["203.0.113.5"], annotations = { [wholeIpAnnotation]: "true" }, spec } = given;
  return {
    metadata: {
      name,
      namespace: "demo",
      uid: `uid-of-${name}`,
      annotations,
      labels: given.labels ?? {},
      creationTimestamp: given.created ?? "2026-01-01T00:00:00Z",
    },
    spec: {
      type: "LoadBalancer",
      clusterIP: "10.96.0.20",
      externalTrafficPolicy: "Local",
      ports: [{ port: 80, protocol: "TCP" }],
      ...spec,
    },
    status: { loadBalancer: { ingress: addresses.map((ip) => ({ ip })) } },
  };
}

export type Slices = Record<string, readonly ObservedSlice[]>;

export type Endpoints = NonNullable<ObservedSlice["endpoints"]>[number][];

/** A slice by the addresses of its ready endpoints and their nodes; `Partial` endpoints say more. */
export function makeSlice(...endpoints: Endpoints): ObservedSlice {
  return { metadata: { name: "web-1", namespace: "demo", uid: "uid-of-slice" }, addressType: "IPv4", endpoints };
}

export const endpoint = (address: string, nodeName = "one", conditions = {}) => ({
  addresses: [address],
  nodeName,
  conditions: { ready: true, ...conditions },
});

export function makeState(services: readonly ObservedService[], slices: Slices): NodeState {
  return { services, slicesOf: (namespace, name) => slices[`${namespace}/${name}`] ?? [], nodes };
}

export function planOf(
  services: readonly ObservedService[],
  slices: Slices = { "demo/web": [makeSlice(endpoint("10.244.1.10"))] },
  given: Partial<NodeSettings> = {},
): NodePlan {
  return planNode(makeState(services, slices), { ...settings, ...given });
}
