/** A cluster: control plane, nodes in network namespaces, DNS. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { loadBalancerAddress } from "./addresses.ts";
import { type Binaries, binaries } from "./binaries.ts";
import { type RunOptions, run as runCommand } from "./command.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { startDns } from "./dns.ts";
import { type BlackHole, blackHole, type Fault, powerOff } from "./faults.ts";
import { writeImage } from "./image.ts";
import { createNetwork, inNamespace, joinOutbound, setLink } from "./network.ts";
import { importImage, startContainerd, startKubelet, startKubeProxy, untilNodeIs } from "./node.ts";
import { pauseImage } from "./node-config.ts";
import { type NodePlan, planNodes } from "./node-plan.ts";
import { type Pods, podsOf } from "./pods.ts";
import type { Run } from "./run-folder.ts";

export interface ClusterOptions {
  /** Nodes `cloud-1..n`, which everything reaches. Default 2. */
  readonly cloudNodes?: number;
  /** Nodes `private-1..n` behind a one-way firewall. Default 1. */
  readonly privateNodes?: number;
  readonly name?: string;
  /** Keep running after this process. Default false. */
  readonly persistent?: boolean;
}

export interface Cluster extends ControlPlane {
  readonly nodes: readonly NodePlan[];
  readonly pods: Pods;
  /** Gives an image archive (OCI or Docker) to every node, or to those named. */
  loadImage(archive: string, nodes?: readonly string[]): Promise<void>;
  /** Runs a command in a node's network, or outside of the cluster on the machine itself. */
  runIn(place: string, command: readonly string[], options?: RunOptions): Promise<string>;
  /** The command line that does so, for a caller that spawns it itself. */
  commandIn(place: string, command: readonly string[]): string[];
  /** Address number 1..254 for `status.loadBalancer.ingress`; reachable from outside, private nodes and joined clusters. */
  loadBalancerAddress(number: number): string;
  /** Link, kubelet, containerd, kube-proxy and all pods of the node are gone at once; its disk stays. */
  powerOff(node: string): Promise<void>;
  /** Boots it again and waits until it is Ready. */
  powerOn(node: string): Promise<void>;
  /** Packets on the node's uplink vanish until the fault is healed. */
  blackHole(node: string, hole?: BlackHole): Promise<Fault>;
  /** Unplugs or plugs the node's uplink. */
  setLink(node: string, state: "up" | "down"): Promise<void>;
  /** `kubectl drain`, daemons left alone; deadline in milliseconds, default 60 000. */
  drain(node: string, deadline?: number): Promise<void>;
  uncordon(node: string): Promise<void>;
  /** Waits for the Node's Ready condition; deadline in milliseconds, default 60 000. */
  untilNodeIs(node: string, state: "Ready" | "NotReady", deadline?: number): Promise<void>;
  /** Lets this cluster's nodes and pods open connections to the other's nodes, NodePorts and load balancers; not the other way. */
  joinTo(other: Cluster): Promise<void>;
}

const outside = "outside";
const guests = new WeakMap<Cluster, number>();

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const programs = await binaries();
  const counts = { cloud: options.cloudNodes ?? 2, private: options.privateNodes ?? 1 };
  let nodes: readonly NodePlan[] = [];
  let runtimes: Promise<unknown> = Promise.resolve();
  const plane = await startControlPlane({
    ...(options.name !== undefined && { name: options.name }),
    ...{ persistent: options.persistent ?? false, hasNodes: true, controllerManager: true, scheduler: true },
    async prepare(run) {
      nodes = planNodes(run, counts);
      await createNetwork(run, nodes);
      // Beside the start of the API server, which takes as long.
      runtimes = startRuntimes(run, nodes, programs);
      runtimes.catch(() => undefined);
    },
  });
  try {
    await runtimes;
    await Promise.all([startDns(plane, programs), ...nodes.map((node) => startNode(plane, programs, node))]);
    return createCluster(plane, programs, nodes);
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

async function startRuntimes(run: Run, nodes: readonly NodePlan[], programs: Binaries): Promise<void> {
  const folder = join(run.folder, "images");
  await mkdir(folder, { recursive: true });
  const pause = join(folder, "pause.tar");
  await writeImage(pause, { name: pauseImage, files: { "/pause": programs.pause }, entrypoint: "/pause" });
  await Promise.all(nodes.map((node) => startContainerd(run, node, [pause])));
}

/** kube-proxy comes second: it looks for its Node once and then only after a pause. */
async function startNode(plane: ControlPlane, programs: Binaries, node: NodePlan): Promise<void> {
  await startKubelet(plane, programs, node);
  await Promise.all([startKubeProxy(plane, programs, node), untilNodeIs(plane, node.name, "Ready", 60_000)]);
}

function createCluster(plane: ControlPlane, programs: Binaries, nodes: readonly NodePlan[]): Cluster {
  const nodeNamed = (name: string): NodePlan => {
    const node = nodes.find((each) => each.name === name);
    if (node === undefined) throw new Error(`no node ${name}: there are ${nodes.map((each) => each.name).join(", ")}`);
    return node;
  };
  const commandIn: Cluster["commandIn"] = (place, command) =>
    place === outside ? [...command] : inNamespace(nodeNamed(place), command);
  return {
    ...plane,
    ...{ nodes, commandIn, pods: podsOf(plane, nodes) },
    async loadImage(archive, names = nodes.map((node) => node.name)) {
      await Promise.all(names.map((name) => importImage(nodeNamed(name), archive)));
    },
    runIn: (place, command, rest) => runCommand(commandIn(place, command), rest),
    loadBalancerAddress: (number) => loadBalancerAddress(plane.run.index, number),
    powerOff: (name) => powerOff(plane.run, nodeNamed(name)),
    async powerOn(name) {
      const node = nodeNamed(name);
      await setLink(node, "up");
      await startContainerd(plane.run, node, []);
      await startNode(plane, programs, node);
    },
    blackHole: (name, hole = {}) =>
      blackHole(nodeNamed(name), hole, hole.peer === undefined ? undefined : nodeNamed(hole.peer)),
    setLink: (name, state) => setLink(nodeNamed(name), state),
    async drain(name, deadline = 60_000) {
      const flags = ["--ignore-daemonsets", "--delete-emptydir-data", "--force", `--timeout=${deadline}ms`];
      await plane.kubectl(["drain", name, ...flags], { timeout: deadline + 5_000 });
    },
    async uncordon(name) {
      await plane.kubectl(["uncordon", name]);
    },
    untilNodeIs: (name, state, deadline = 60_000) => untilNodeIs(plane, nodeNamed(name).name, state, deadline),
    async joinTo(other) {
      const first = guests.get(other) ?? 1;
      guests.set(other, first + nodes.length);
      await joinOutbound({ run: plane.run, nodes }, { run: other.run, nodes: other.nodes }, first);
    },
  };
}
