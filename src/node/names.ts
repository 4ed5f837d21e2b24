import { apiGroup } from "../names.ts";

/** Name of the nftables table of whole-IP Services, one in each family. */
export const wholeIpTable = "netaminity";
/** Name of the nftables table that masquerades into a mesh, one in each family. */
export const meshTable = "netaminity_mesh";

/** On a Service: `true` for all ports and protocols of its load balancer address, `ports` for its ports alone. */
export const wholeIpAnnotation = `${apiGroup}/whole-ip`;
/** On a Service with `ports`: `true` lets ICMP echo through as well. */
export const allowIcmpAnnotation = `${apiGroup}/allow-icmp`;

/** The same of cozy-proxy, read with `--compat-cozystack` only. */
export const cozystack = {
  wholeIp: "networking.cozystack.io/wholeIP",
  allowIcmp: "networking.cozystack.io/allowICMP",
  proxyName: "cozy-proxy",
} as const;

/** The label by which a Service is left alone by kube-proxy (KEP-2447). */
export const proxyNameLabel = "service.kubernetes.io/service-proxy-name";
/** Its value for Services that are ours alone. */
export const ownProxyName = "netaminity";
/** On an EndpointSlice: the Service that it belongs to. */
export const serviceNameLabel = "kubernetes.io/service-name";
