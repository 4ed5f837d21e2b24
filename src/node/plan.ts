import { labels } from "../names.ts";
import { type Address, type Family, families, parseAddress, type Range } from "./address.ts";
import { chooseEndpoint, type Endpoint, readyEndpoints } from "./endpoint.ts";
import { askedMode, type Mode } from "./mode.ts";
import type { NodeState, ObservedService, ObservedSlice } from "./observed.ts";
import { type Surroundings, surroundingsOf } from "./surroundings.ts";

export interface NodeSettings {
  /** Name of the Node that this is. */
  node: string;
  /** Empty: those that the Nodes name. */
  podCidrs: readonly Range[];
  serviceCidrs: readonly Range[];
  /** Addresses of the API server that are known beside those that it publishes. */
  apiServer: readonly string[];
  compatCozystack: boolean;
}

/** One address of a Service and the pod that has it. */
export interface Mapping {
  service: string;
  address: Address;
  endpoint: Address;
  /** The endpoint is on this node. */
  isLocal: boolean;
  /** Clients from outside may come over any node. */
  isOverAnyNode: boolean;
  mode: Mode;
  /** Of the Service; they count in the mode `ports`. */
  ports: readonly { protocol: "tcp" | "udp" | "sctp"; port: number }[];
  /** The pod's own connections leave with this address; of several Services on a pod only the oldest has this. */
  isWayOut: boolean;
}

/** Something that the owner of a Service has to know. */
export interface Note {
  service: ObservedService;
  reason: NoteReason;
  message: string;
  /** Which node says it: the one with the pod, else the first of all. */
  reporter: string | undefined;
}

/** Reasons of Events, and of the metric of refused Services. docs/node.md explains each. */
export type NoteReason =
  | "WholeIPInvalid"
  | "WholeIPAddressRefused"
  | "WholeIPAddressTaken"
  | "WholeIPEndpointRefused"
  | "WholeIPSeveralEndpoints"
  | "WholeIPWayOutTaken";

export interface NodePlan {
  mappings: readonly Mapping[];
  surroundings: Surroundings;
  notes: readonly Note[];
}

/** Which Service's address goes to which pod, seen from one node. Depends on nothing but its arguments, and on no order in them. */
export function planNode(state: NodeState, settings: NodeSettings): NodePlan {
  const surroundings = surroundingsOf(state, settings);
  const firstNode = state.nodes.map(({ metadata }) => metadata.name).toSorted()[0];
  const notes: Note[] = [];
  const mappings: Mapping[] = [];
  /** Owner of each load balancer address, and of each pod's way out. */
  const addresses = new Map<string, string>();
  const waysOut = new Map<string, string>();
  const asking = [...state.services].filter((service) => askedMode(service, settings.compatCozystack) !== undefined);
  for (const service of oldestFirst(asking)) {
    const asked = askedMode(service, settings.compatCozystack);
    if (asked === undefined) continue;
    const slices = state.slicesOf(service.metadata.namespace, service.metadata.name);
    let reporter = firstNode;
    const tell = (reason: NoteReason, message: string) => notes.push({ service, reason, message, reporter });
    const wrong = "wrong" in asked ? asked.wrong : whyNotServed(service, slices);
    if (wrong !== undefined || "wrong" in asked) {
      tell("WholeIPInvalid", wrong ?? "");
      continue;
    }
    for (const family of families) {
      const own = addressesOf(service, family);
      const endpoints = own.length === 0 ? [] : readyEndpoints(slices, family);
      const endpoint = chooseEndpoint(endpoints, settings.node);
      reporter = endpoints[0]?.node ?? firstNode;
      const lead = own[0];
      if (lead === undefined) continue;
      const usable = own.filter((address) => {
        const refusal = surroundings.whyNotMapped(address);
        const owner = addresses.get(address.text);
        if (refusal !== undefined) {
          tell("WholeIPAddressRefused", `the address ${address.text} ${refusal}`);
        } else if (owner !== undefined) {
          tell("WholeIPAddressTaken", `the older Service ${owner} has the address ${address.text}`);
        } else {
          addresses.set(address.text, nameOf(service));
        }
        return refusal === undefined && owner === undefined;
      });
      if (endpoint === undefined || usable.length === 0) continue;
      const refusal = surroundings.whyNotEndpoint(endpoint.address);
      if (refusal !== undefined) {
        tell("WholeIPEndpointRefused", `the endpoint ${endpoint.address.text} ${refusal}`);
        continue;
      }
      if (endpoints.length > 1) {
        const many = endpoints.map(({ address }) => address.text).slice(0, 5);
        tell(
          "WholeIPSeveralEndpoints",
          `${endpoints.length} endpoints are ready (${many.join(", ")}), but one address belongs to one pod: each node uses one on itself, else the first`,
        );
      }
      const out = waysOut.get(endpoint.address.text);
      if (out !== undefined) {
        tell(
          "WholeIPWayOutTaken",
          `the pod ${endpoint.address.text} goes out with the address of the older Service ${out}`,
        );
      }
      waysOut.set(endpoint.address.text, out ?? nameOf(service));
      mappings.push(...mapped({ service, usable, endpoint, mode: asked.mode, isFirst: out === undefined, settings }));
    }
  }
  return { mappings, surroundings, notes };
}

function mapped({
  service,
  usable,
  endpoint,
  mode,
  isFirst,
  settings,
}: {
  service: ObservedService;
  usable: readonly Address[];
  endpoint: Endpoint;
  mode: Mode;
  isFirst: boolean;
  settings: NodeSettings;
}): Mapping[] {
  return usable.map((address, index) => ({
    service: nameOf(service),
    address,
    endpoint: endpoint.address,
    isLocal: endpoint.node === settings.node,
    isOverAnyNode: service.spec?.externalTrafficPolicy !== "Local",
    mode,
    ports: portsOf(service),
    isWayOut: isFirst && index === 0,
  }));
}

const nameOf = ({ metadata }: ObservedService) => `${metadata.namespace}/${metadata.name}`;

function oldestFirst(services: Iterable<ObservedService>): ObservedService[] {
  const byAge = [...services].map((service) => ({
    service,
    age: `${service.metadata.creationTimestamp ?? ""} ${nameOf(service)}`,
  }));
  return byAge.sort((left, right) => (left.age < right.age ? -1 : 1)).map(({ service }) => service);
}

/** Why a Service that asks for it cannot have it. */
function whyNotServed({ metadata, spec }: ObservedService, slices: readonly ObservedSlice[]): string | undefined {
  if (spec?.type !== "LoadBalancer") {
    return `its type is ${spec?.type ?? "ClusterIP"}; only a Service of type LoadBalancer has an address of its own`;
  }
  const ours = [metadata, ...slices.map((slice) => slice.metadata)];
  if (ours.some((each) => each.labels?.[labels.managedBy] === "netaminity" || labels.proxy in (each.labels ?? {}))) {
    return "a tunnel serves it, and TCP alone crosses that";
  }
  return (spec.loadBalancerSourceRanges?.length ?? 0) > 0
    ? "it has loadBalancerSourceRanges, which would hold for none of its other ports; say who may come in a NetworkPolicy of the pod"
    : undefined;
}

function addressesOf({ status }: ObservedService, family: Family): Address[] {
  const found = new Map<string, Address>();
  for (const { ip } of status?.loadBalancer?.ingress ?? []) {
    const address = parseAddress(ip ?? "");
    if (address?.family === family) found.set(address.text, address);
  }
  return [...found.values()];
}

const protocols: Readonly<Record<string, "tcp" | "udp" | "sctp">> = { TCP: "tcp", UDP: "udp", SCTP: "sctp" };

function portsOf({ spec }: ObservedService): Mapping["ports"] {
  return (spec?.ports ?? []).flatMap(({ port, protocol = "TCP" }) => {
    const known = protocols[protocol];
    return known === undefined ? [] : [{ protocol: known, port }];
  });
}
