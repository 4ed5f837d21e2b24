import type { ProxyResource } from "../api/proxy.ts";
import { rendezvousServiceName } from "../desired/names.ts";
import { rendezvousPort } from "../names.ts";
import { bad, type Verdict } from "./conditions.ts";
import type { ObservedService } from "./observed.ts";

/** host:port at which Targets reach the Proxy, or why it is not known. */
export type Endpoint = { known: string } | { unknown: Verdict };

/** `service` is the Proxy's rendezvous Service as observed, if it exists and is ours. */
export function rendezvousEndpoint(
  { metadata: { name, namespace }, spec: { proxyService }, status }: ProxyResource,
  service: ObservedService | undefined,
  proxyHost: string | undefined,
): Endpoint {
  switch (proxyService.type) {
    case "ClusterIP":
      return { known: `${rendezvousServiceName(name)}.${namespace}.svc:${rendezvousPort}` };
    case "NodePort":
      return nodePortEndpoint(proxyService.nodePort, service, proxyService.externalHost || proxyHost);
    case "LoadBalancer":
      // Known before the load balancer is: some that have a name in front of them never say an address.
      if (proxyService.externalHost) return { known: hostPort(proxyService.externalHost, rendezvousPort) };
      return loadBalancerEndpoint(rendezvousServiceName(name), service, status?.proxyEndpoint);
  }
}

function nodePortEndpoint(
  wanted: number | undefined,
  service: ObservedService | undefined,
  proxyHost: string | undefined,
): Endpoint {
  if (proxyHost === undefined || proxyHost === "") {
    return {
      unknown: bad(
        "ProxyHostMissing",
        "a rendezvous Service of type NodePort needs the host under which the nodes are reached: set spec.proxyService.externalHost, or for all the chart value config.proxyHost (NETAMINITY_PROXY_HOST)",
      ),
    };
  }
  const assigned = service?.spec?.type === "NodePort" ? service.spec.ports?.[0]?.nodePort : undefined;
  // Until the Service has the port that is asked for, the old one may belong to somebody else.
  if (assigned === undefined || (wanted !== undefined && wanted !== assigned)) {
    return { unknown: bad("EndpointPending", "the rendezvous Service has no node port yet") };
  }
  return { known: hostPort(proxyHost, assigned) };
}

/** The present endpoint stays while the load balancer has it, in whatever order its addresses come. */
function loadBalancerEndpoint(
  name: string,
  service: ObservedService | undefined,
  present: string | undefined,
): Endpoint {
  const ingress = service?.spec?.type === "LoadBalancer" ? (service.status?.loadBalancer?.ingress ?? []) : [];
  const endpoints = ingress
    .map(({ ip, hostname }) => ip || hostname)
    .flatMap((host) => (host ? [hostPort(host, rendezvousPort)] : []));
  const [first] = endpoints;
  if (present !== undefined && endpoints.includes(present)) return { known: present };
  return first !== undefined
    ? { known: first }
    : { unknown: bad("EndpointPending", `the load balancer of Service ${name} has no address yet`) };
}

/** An IPv6 address may be given with or without brackets; it is written with them. */
function hostPort(host: string, port: number): string {
  const bare = host.replace(/^\[(.*)\]$/, "$1");
  return bare.includes(":") ? `[${bare}]:${port}` : `${bare}:${port}`;
}
