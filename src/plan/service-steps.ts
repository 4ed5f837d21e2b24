import type { V1Service } from "@kubernetes/client-node";
import type { ProxySpec } from "../api/proxy.ts";
import type { ObservedService } from "./observed.ts";
import type { DesiredObject } from "./plan.ts";

type DesiredService = V1Service & DesiredObject;

/**
 * What is applied to the Services of one owner in this pass, where Kubernetes does not take the wish at once:
 * - the class of a load balancer never changes, so a Service that shall have another one becomes a ClusterIP in between;
 * - a port of the nodes belongs to one Service. Who has one that another Service of this owner is to get gives it back first, by the same step; the other one
 *   waits without it, or with the one that it has.
 *
 * Each step is seen by the watch, so the next pass makes the next one. `observed` are the owner's Services.
 */
export function inSteps(wanted: readonly DesiredService[], observed: readonly ObservedService[]): DesiredService[] {
  return wanted.map((service) => {
    const live = observed.find(({ metadata }) => metadata.name === service.metadata.name);
    const others = wanted.filter((other) => other !== service);
    const isInTheWay = portsOf(live).some(
      (port) => !portsOf(service).includes(port) && others.some((other) => portsOf(other).includes(port)),
    );
    if (isInTheWay || changesClass(service, live)) return asClusterIp(service);
    const isTaken = observed.some(
      (other) => other !== live && portsOf(other).some((p) => portsOf(service).includes(p)),
    );
    return isTaken ? withoutNodePorts(service) : service;
  });
}

/** The same for the rendezvous of a pair, which its Proxy's own rule would refuse. */
export function rendezvousInSteps(wanted: ProxySpec["proxyService"], live: ProxySpec["proxyService"] | undefined) {
  return changesClass({ spec: wanted }, { spec: live }) ? ({ type: "ClusterIP" } as const) : wanted;
}

function portsOf(service: DesiredService | ObservedService | undefined): number[] {
  return (service?.spec?.ports ?? []).flatMap(({ nodePort }) => (nodePort ? [nodePort] : []));
}

interface Balanced {
  spec?: { type?: string; loadBalancerClass?: string } | undefined;
}

function changesClass({ spec: wanted }: Balanced, live: Balanced | undefined): boolean {
  const isBalanced = wanted?.type === "LoadBalancer" && live?.spec?.type === "LoadBalancer";
  return isBalanced && (wanted.loadBalancerClass ?? "") !== (live.spec?.loadBalancerClass ?? "");
}

function asClusterIp(service: DesiredService): DesiredService {
  const {
    externalTrafficPolicy: _,
    loadBalancerClass: _class,
    loadBalancerSourceRanges: _ranges,
    ...spec
  } = withoutNodePorts(service).spec ?? {};
  return { ...service, spec: { ...spec, type: "ClusterIP" } };
}

function withoutNodePorts(service: DesiredService): DesiredService {
  const ports = service.spec?.ports?.map(({ nodePort: _, ...port }) => port) ?? [];
  return { ...service, spec: { ...service.spec, ports } };
}
