import { type Address, compareAddresses, type Family, parseAddress } from "./address.ts";
import type { ObservedSlice } from "./observed.ts";

/** A pod behind a Service. */
export interface Endpoint {
  address: Address;
  /** Undefined for an endpoint that a person wrote. */
  node: string | undefined;
}

/** Endpoints of one family that can be used: ready and not about to end, each address once, the lowest first. */
export function readyEndpoints(slices: readonly ObservedSlice[], family: Family): Endpoint[] {
  const found = new Map<bigint, Endpoint>();
  for (const { endpoints = [] } of slices) {
    for (const { addresses, conditions, nodeName } of endpoints) {
      // An unset `ready` is to be taken for true (discovery.k8s.io/v1, EndpointConditions).
      if (conditions?.ready === false || conditions?.terminating === true) {
        continue;
      }
      const address = parseAddress(addresses[0] ?? "");
      if (address?.family === family) {
        found.set(address.value, { address, node: nodeName });
      }
    }
  }
  return [...found.values()].sort((left, right) => compareAddresses(left.address, right.address));
}

/** One on this node, else the lowest address, so that all nodes without one agree. */
export function chooseEndpoint(endpoints: readonly Endpoint[], node: string): Endpoint | undefined {
  return endpoints.find((endpoint) => endpoint.node === node) ?? endpoints[0];
}
