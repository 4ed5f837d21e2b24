import { annotations, type KubeNode, type Pending } from "./kube-node.ts";
import { type Prefix, parseAddress, parsePrefix, prefixKey, shorten } from "./prefix.ts";

/** A machine of the mesh, whatever networks it is in. */
export interface MeshHost {
  id: string;
  name: string;
  /** Where its peers reach it; an address inside a pod CIDR here is the failure that the rules prevent. */
  endpoint: string;
}

/** A host's membership of one network. */
export interface MeshNode {
  id: string;
  hostId: string;
  network: string;
  /** Mesh addresses, with or without the length of their network. */
  addresses: readonly string[];
  pendingDelete: boolean;
}

/** A Node and the memberships of its host. */
export interface Member {
  node: KubeNode;
  /** Ids of the mesh's nodes by network; never empty. */
  meshNodes: ReadonlyMap<string, string>;
}

export interface Matched {
  members: Member[];
  pending: Pending[];
}

/** Finds the host of each Node: as the annotation says, else by its name, its first label or its address in the mesh. */
export function matchHosts(
  nodes: readonly KubeNode[],
  hosts: readonly MeshHost[],
  meshNodes: readonly MeshNode[],
): Matched {
  const living = Map.groupBy(
    meshNodes.filter(({ pendingDelete }) => !pendingDelete),
    ({ hostId }) => hostId,
  );
  const index = indexHosts(hosts, living);
  const found = nodes.map((node) => ({ node, hosts: index(node) }));
  const claims = Map.groupBy(
    found.filter(({ hosts }) => hosts.length === 1),
    ({ hosts }) => hosts[0]?.id,
  );
  const members: Member[] = [];
  const pending: Pending[] = [];
  for (const { node, hosts } of found) {
    const [host, another] = hosts;
    const rivals = claims.get(host?.id)?.filter((claim) => claim.node !== node) ?? [];
    const memberships = living.get(host?.id ?? "") ?? [];
    const wait = (reason: Pending["reason"], message: string) => pending.push({ node, reason, message });
    if (node.podCidrs.length === 0) {
      wait("NoPodCidr", "the Node has no pod CIDR (spec.podCIDRs) yet, so there is nothing to publish");
    } else if (host === undefined) {
      wait("NoMeshHost", noHost(node));
    } else if (another !== undefined) {
      const names = hosts.map(({ name, id }) => `${name} (${id})`).join(" and ");
      wait(
        "AmbiguousMeshHost",
        `several hosts of the mesh could be this Node: ${names}; annotate it with ${annotations.meshHost}=ID`,
      );
    } else if (rivals.length > 0) {
      const others = rivals.map((rival) => rival.node.name).join(" and ");
      wait(
        "AmbiguousMeshHost",
        `the host ${host.name} of the mesh could also be the Node ${others}; annotate both with ${annotations.meshHost}`,
      );
    } else if (memberships.length === 0) {
      wait("NoMeshHost", `the host ${host.name} is in no network of the mesh now`);
    } else {
      members.push({ node, meshNodes: new Map(memberships.map(({ network, id }) => [network, id])) });
    }
  }
  return { members, pending };
}

function noHost({ name, annotations: given }: KubeNode): string {
  const wanted = given[annotations.meshHost];
  return wanted === undefined
    ? `no host of the mesh is called ${name} or has an address of this Node; annotate it with ${annotations.meshHost}=NAME`
    : `no host of the mesh is called ${wanted} or has that id, as its annotation ${annotations.meshHost} says`;
}

type Look = (node: KubeNode) => readonly MeshHost[];

function indexHosts(hosts: readonly MeshHost[], living: ReadonlyMap<string, readonly MeshNode[]>): Look {
  const byName = Map.groupBy(hosts, ({ name }) => name);
  const byId = Map.groupBy(hosts, ({ id }) => id);
  const byAddress = new Map<string, Set<MeshHost>>();
  for (const host of hosts) {
    for (const text of (living.get(host.id) ?? []).flatMap(({ addresses }) => addresses)) {
      const address = parseAddress(text);
      if (address !== undefined) {
        const key = prefixKey(address);
        byAddress.set(key, (byAddress.get(key) ?? new Set()).add(host));
      }
    }
  }
  const withAddress = (ip: string) => {
    const address = parseAddress(ip);
    return address === undefined ? [] : [...(byAddress.get(prefixKey(address)) ?? [])];
  };
  return ({ name, annotations: given, internalIps }) => {
    const wanted = given[annotations.meshHost];
    if (wanted !== undefined) {
      return byId.get(wanted) ?? byName.get(wanted) ?? [];
    }
    const ways = [
      () => byName.get(name) ?? [],
      () => byName.get(name.split(".")[0] ?? name) ?? [],
      () => [...new Set(internalIps.flatMap(withAddress))],
    ];
    return ways.map((way) => way()).find((found) => found.length > 0) ?? [];
  };
}

/** Hosts that their peers reach, or try to reach, at an address inside a pod CIDR. */
export function leakedEndpoints(
  nodes: readonly KubeNode[],
  hosts: readonly MeshHost[],
): { host: MeshHost; cidr: string }[] {
  const cidrs = new Map<string, string>();
  // Few lengths and thousands of CIDRs: an address is looked up once for each length.
  const shapes = new Map<string, Pick<Prefix, "family" | "length">>();
  for (const cidr of nodes.flatMap(({ podCidrs }) => podCidrs)) {
    const prefix = parsePrefix(cidr);
    if (prefix !== undefined) {
      cidrs.set(prefixKey(prefix), cidr);
      shapes.set(`${prefix.family}/${prefix.length}`, prefix);
    }
  }
  return hosts.flatMap((host) => {
    const address = parseAddress(host.endpoint);
    for (const { family, length } of shapes.values()) {
      const cidr = address?.family === family ? cidrs.get(prefixKey(shorten(address, length))) : undefined;
      if (cidr !== undefined) return [{ host, cidr }];
    }
    return [];
  });
}
