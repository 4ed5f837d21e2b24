// What the role reads of each object, in the JSON form of the API server.

interface Metadata {
  name: string;
  uid: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  /** RFC 3339. */
  creationTimestamp?: string;
}

type Namespaced = Metadata & { namespace: string };

export interface ObservedService {
  metadata: Namespaced;
  spec?: {
    type?: string;
    clusterIP?: string;
    clusterIPs?: readonly string[];
    externalTrafficPolicy?: string;
    healthCheckNodePort?: number;
    loadBalancerSourceRanges?: readonly string[];
    ports?: readonly { port: number; protocol?: string }[];
  };
  status?: { loadBalancer?: { ingress?: readonly { ip?: string }[] } };
}

export interface ObservedSlice {
  metadata: Namespaced;
  addressType?: string;
  endpoints?: readonly {
    addresses: readonly string[];
    conditions?: { ready?: boolean; terminating?: boolean };
    nodeName?: string;
  }[];
}

export interface ObservedNode {
  metadata: Metadata;
  spec?: { podCIDR?: string; podCIDRs?: readonly string[] };
  status?: { addresses?: readonly { type: string; address: string }[] };
}

/** Everything that the table of a node follows from. */
export interface NodeState {
  services: Iterable<ObservedService>;
  slicesOf(namespace: string, service: string): readonly ObservedSlice[];
  nodes: readonly ObservedNode[];
}
