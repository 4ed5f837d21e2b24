/** The addresses of run number `index`; two runs never share one, so that two clusters can be joined. */

export interface Addresses {
  /** Where the API server listens: the bridge's address when there are nodes, else a loopback address of the run. */
  readonly apiServer: string;
  /** Loopback address of etcd, which nodes must not reach. */
  readonly loopback: string;
  readonly serviceCidr: string;
  /** The Service `kubernetes`. */
  readonly kubernetesService: string;
  readonly dnsService: string;
  /** The root namespace's side of the node network, with prefix length. */
  readonly bridge: string;
  readonly bridgeAddress: string;
}

export function addressesOf(index: number, hasNodes: boolean): Addresses {
  const loopback = `127.30.${index}.1`;
  const bridgeAddress = `172.30.${index}.1`;
  return {
    apiServer: hasNodes ? bridgeAddress : loopback,
    loopback,
    serviceCidr: `10.${128 + index}.0.0/16`,
    kubernetesService: `10.${128 + index}.0.1`,
    dnsService: `10.${128 + index}.0.10`,
    bridge: `${bridgeAddress}/24`,
    bridgeAddress,
  };
}

/** Address of node number 1..99 on its cluster's node network. */
export function nodeAddress(index: number, node: number): string {
  return `172.30.${index}.${10 + node}`;
}

export function podCidr(index: number, node: number): string {
  return `10.${64 + index}.${node}.0/24`;
}

/** Fixed ports are safe: each run has its own addresses. Away from the usual ones, which wildcards on a host may hold. */
export const ports = { apiServer: 26443, etcdClient: 22379, etcdPeer: 22380 } as const;
