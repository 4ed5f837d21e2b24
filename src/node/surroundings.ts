import { type Address, isRoutable, isWithin, parseAddress, parseCidrs, type Range, rangeOf } from "./address.ts";
import type { NodeState } from "./observed.ts";
import type { NodeSettings } from "./plan.ts";

/** Whose an address is, of those that no Service may take. */
export interface Surroundings {
  /** What is inside the cluster: pod CIDRs, node addresses, service CIDRs. */
  internal: readonly Range[];
  podCidrs: readonly Range[];
  /** Why an address must not be taken over; undefined when it may. */
  whyNotMapped(address: Address): string | undefined;
  /** Why nothing may be sent to an endpoint; undefined when it may. */
  whyNotEndpoint(address: Address): string | undefined;
}

export function surroundingsOf(state: NodeState, settings: NodeSettings): Surroundings {
  const nodeAddresses = parseAll(
    state.nodes.flatMap(({ status }) => status?.addresses ?? []).map((each) => each.address),
  );
  const podCidrs =
    settings.podCidrs.length > 0
      ? settings.podCidrs
      : parseCidrs(state.nodes.flatMap(({ spec }) => spec?.podCIDRs ?? []));
  const clusterIPs = clusterIPsOf(state);
  const apiServer = parseAll([
    ...settings.apiServer,
    ...state
      .slicesOf("default", "kubernetes")
      .flatMap(({ endpoints = [] }) => endpoints.flatMap(({ addresses }) => addresses)),
  ]);
  const isIn = (addresses: ReadonlyMap<string, unknown>, { text }: Address) => addresses.has(text);
  return {
    internal: [...podCidrs, ...settings.serviceCidrs, ...[...nodeAddresses.values()].map(rangeOf)],
    podCidrs,
    whyNotMapped(address) {
      if (!isRoutable(address)) return "is no address that can be routed";
      if (isIn(nodeAddresses, address)) return "is a node's";
      if (isIn(apiServer, address)) return "is the API server's";
      if (clusterIPs.has(address.text)) return `is the cluster IP of Service ${clusterIPs.get(address.text)}`;
      if (isWithin(address, settings.serviceCidrs)) return "is inside the service CIDR";
      return isWithin(address, podCidrs) ? "is inside a pod CIDR" : undefined;
    },
    whyNotEndpoint(address) {
      if (isIn(nodeAddresses, address))
        return "is a node's: a pod on the node's network cannot have an address of its own";
      if (isIn(apiServer, address)) return "is the API server's";
      return isWithin(address, podCidrs)
        ? undefined
        : "is in no pod CIDR; where Nodes do not name those of the pods, pod-cidr has to";
    },
  };
}

function parseAll(texts: readonly string[]): Map<string, Address> {
  return new Map(
    texts.flatMap((text) => {
      const address = parseAddress(text);
      return address === undefined ? [] : [[address.text, address] as const];
    }),
  );
}

function clusterIPsOf({ services }: NodeState): Map<string, string> {
  const found = new Map<string, string>();
  for (const { metadata, spec } of services) {
    for (const text of spec?.clusterIPs ?? (spec?.clusterIP === undefined ? [] : [spec.clusterIP])) {
      const address = parseAddress(text);
      if (address !== undefined) found.set(address.text, `${metadata.namespace}/${metadata.name}`);
    }
  }
  return found;
}
