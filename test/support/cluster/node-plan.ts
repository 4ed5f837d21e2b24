/** Which nodes a cluster has, and every name and path that belongs to one. */
import { join } from "node:path";
import { nodeAddress, podCidr } from "./addresses.ts";
import type { Run } from "./run-folder.ts";

export type NodeKind = "cloud" | "private";

export interface NodePlan {
  /** `cloud-1`, `private-1`: also the Node's name in Kubernetes. */
  readonly name: string;
  readonly kind: NodeKind;
  /** 1, 2, 3 ... over all nodes of the cluster. */
  readonly number: number;
  readonly address: string;
  readonly podCidr: string;
  /** Network namespace in /run/netns. */
  readonly namespace: string;
  /** The root namespace's end of the node's uplink; the other end is `eth0`. */
  readonly link: string;
  readonly folder: string;
  /** What a reboot loses: containerd's state and the addresses given to pods. */
  readonly volatileFolder: string;
  readonly containerdSocket: string;
  readonly cgroup: string;
}

export function planNodes(run: Run, counts: { readonly cloud: number; readonly private: number }): NodePlan[] {
  const kinds: NodeKind[] = [
    ...Array<NodeKind>(counts.cloud).fill("cloud"),
    ...Array<NodeKind>(counts.private).fill("private"),
  ];
  return kinds.map((kind, position) => {
    const name = `${kind}-${kind === "cloud" ? position + 1 : position + 1 - counts.cloud}`;
    const folder = join(run.folder, "nodes", name);
    const number = position + 1;
    return {
      ...{ name, kind, number, folder, address: nodeAddress(run.index, number), podCidr: podCidr(run.index, number) },
      namespace: `${namespacePrefix(run)}${name}`,
      link: `${bridgeName(run)}-${number}`,
      volatileFolder: join(folder, "run"),
      containerdSocket: join(folder, "run/containerd.sock"),
      cgroup: `/${cgroupName(run)}/${name}`,
    };
  });
}

export function namespacePrefix(run: Run): string {
  return `netaminity-${run.index}-`;
}

/** Interface names have at most 15 characters. */
export function bridgeName(run: Run): string {
  return `netaminity${run.index}`;
}

export function cgroupName(run: Run): string {
  return `netaminity-${run.index}`;
}

/** Name of a node's daemon in {@link startDaemon}; what it starts is found by it too. */
export function daemonName(program: "containerd" | "kubelet" | "kube-proxy", node: NodePlan): string {
  return `${program}@${node.name}`;
}
