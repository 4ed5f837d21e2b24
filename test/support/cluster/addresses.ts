/**
 * The addresses of run number `index`. Two runs never share one, so that two clusters can be joined:
 * 172.30.INDEX.0/24 node network, 10.(64+INDEX).NODE.0/24 pods, 10.(128+INDEX).0.0/16 Services, 10.(192+INDEX).0.0/24
 * addresses for load balancers (routed to the first cloud node), 127.30.INDEX.1 what nodes must not reach.
 */

export interface Addresses {
  /** Where the API server listens: the bridge's address when there are nodes, else a loopback address of the run. */
  readonly apiServer: string;
  readonly loopback: string;
  readonly serviceCidr: string;
  /** The Service `kubernetes`. */
  readonly kubernetesService: string;
  readonly dnsService: string;
  /** The root namespace's own address on the node network. */
  readonly bridge: string;
  readonly nodeCidr: string;
  readonly loadBalancerCidr: string;
}

export function addressesOf(index: number, hasNodes: boolean): Addresses {
  const loopback = `127.30.${index}.1`;
  const bridge = `172.30.${index}.1`;
  return {
    apiServer: hasNodes ? bridge : loopback,
    loopback,
    serviceCidr: `10.${128 + index}.0.0/16`,
    kubernetesService: `10.${128 + index}.0.1`,
    dnsService: `10.${128 + index}.0.10`,
    bridge,
    nodeCidr: `172.30.${index}.0/24`,
    loadBalancerCidr: `10.${192 + index}.0.0/24`,
  };
}

/** What belongs to some cluster on this machine: a node has no way to another cluster's part of it unless joined. */
export const everyClustersRanges = ["172.30.0.0/16", "10.64.0.0/10", "10.192.0.0/10"];

/** Address of node number 1..80 on its cluster's node network. */
export function nodeAddress(index: number, node: number): string {
  return `172.30.${index}.${10 + node}`;
}

/** Address number 1..100 for nodes of another cluster that come in through a second interface. */
export function guestAddress(index: number, guest: number): string {
  return `172.30.${index}.${100 + guest}`;
}

export function podCidr(index: number, node: number): string {
  return `10.${64 + index}.${node}.0/24`;
}

/** Address number 1..254 that a test may give a Service as its load balancer's. */
export function loadBalancerAddress(index: number, number: number): string {
  return `10.${192 + index}.0.${number}`;
}

/** Fixed ports are safe: each run has its own addresses. Away from the usual ones, which wildcards on a host may hold. */
export const ports = { apiServer: 26443, etcdClient: 22379, etcdPeer: 22380 } as const;
