import { labels } from "../../src/names.ts";
import { resources } from "../../src/operator/resources.ts";
import { run } from "../support/cluster/command.ts";
import { type ControlPlane, waitFor } from "../support/cluster/index.ts";
import type { Live, Objects } from "./objects.ts";

/** What a real kubelet would report of pods: a control plane without nodes runs none. */
export interface PodState {
  ready: boolean;
  ip?: string;
  node?: string;
  /** Set: the container waits with this reason and message. */
  waiting?: { reason: string; message: string };
  restarts?: number;
}

const image = "netaminity:test";

/** Reports a pod as a kubelet does, and binds it to its node first when asked to. */
export async function reportPod(plane: ControlPlane, objects: Objects, pod: Live, state: PodState): Promise<void> {
  const { name, namespace } = pod.metadata;
  if (state.node !== undefined && pod.spec.nodeName === undefined) {
    await plane.api.request(`/api/v1/namespaces/${namespace}/pods/${name}/binding`, {
      body: { apiVersion: "v1", kind: "Binding", metadata: { name }, target: { kind: "Node", name: state.node } },
    });
  }
  const { ready, ip, waiting } = state;
  const containerState = waiting === undefined ? { running: { startedAt: "2026-01-01T00:00:00Z" } } : { waiting };
  const container = {
    ...{ name: pod.spec.containers[0].name, image, imageID: image, containerID: `containerd://${pod.metadata.uid}` },
    ...{ ready, started: waiting === undefined, restartCount: state.restarts ?? 0, state: containerState },
  };
  const status = {
    phase: waiting === undefined ? "Running" : "Pending",
    ...(ip === undefined ? {} : { podIP: ip, podIPs: [{ ip }] }),
    conditions: [
      { type: "PodScheduled", status: "True" },
      { type: "Ready", status: ready ? "True" : "False" },
      { type: "ContainersReady", status: ready ? "True" : "False" },
    ],
    containerStatuses: [container],
  };
  await objects.patch(resources.pod, name, { status }, "status");
}

/** The pods of a Proxy or a Target that are not being deleted, oldest first. */
export async function podsOf(objects: Objects, of: { proxy?: string; target?: string }): Promise<Live[]> {
  const selector = of.proxy === undefined ? `${labels.target}=${of.target}` : `${labels.proxy}=${of.proxy}`;
  const pods = await objects.list(resources.pod, selector);
  return pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
}

/** Waits until a workload has so many pods and gives them. */
export function untilPods(objects: Objects, of: { proxy?: string; target?: string }, count: number): Promise<Live[]> {
  return waitFor(`${count} pods of ${of.proxy ?? of.target}`, { deadline: 20_000 }, async () => {
    const pods = await podsOf(objects, of);
    return pods.length === count ? pods : undefined;
  });
}

/**
 * Reports every new pod of a namespace as running, with an address, until disposed. `isReady` says whether its agent has a session.
 * The pods are bound to no node, so that deleting one needs nobody to confirm it.
 */
export function runPods(
  plane: ControlPlane,
  objects: Objects,
  isReady: (pod: Live) => boolean,
  addressOf: (pod: Live) => string = nextAddress,
): AsyncDisposable {
  const stop = new AbortController();
  const round = async () => {
    for (const pod of await objects.list(resources.pod)) {
      if (pod.status?.podIP === undefined && pod.metadata.deletionTimestamp === undefined) {
        await reportPod(plane, objects, pod, { ready: isReady(pod), ip: addressOf(pod) });
      }
    }
  };
  const loop = async () => {
    while (!stop.signal.aborted) {
      // Pods go and API servers are stopped meanwhile; the next round sees what is there then.
      await round().catch(() => {});
      await Bun.sleep(100);
    }
  };
  const running = loop();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

let addresses = 0;

/** An address that no other pod has, of this run or of one beside it. */
export function nextAddress(): string {
  addresses += 1;
  return `10.${70 + (process.pid % 30)}.${Math.floor(process.pid / 30) % 250}.${(addresses % 250) + 1}`;
}

/** Makes this machine answer on pod addresses, so that the operator's probes reach a test's own servers. */
export async function localAddresses(addresses: readonly string[]): Promise<AsyncDisposable> {
  const change = (verb: "replace" | "del", address: string) =>
    run(["ip", "address", verb, `${address}/32`, "dev", "lo"]);
  for (const address of addresses) {
    await change("replace", address);
  }
  return {
    async [Symbol.asyncDispose]() {
      for (const address of addresses) {
        await change("del", address);
      }
    },
  };
}

/** A node object that nobody runs. Its readiness is what the test says, as long as the lease is fresh. */
export async function createNode(plane: ControlPlane, name: string): Promise<void> {
  await plane.api.request("/api/v1/nodes", { body: { apiVersion: "v1", kind: "Node", metadata: { name } } });
  await setNodeReady(plane, name, "True");
}

export async function setNodeReady(plane: ControlPlane, name: string, status: "True" | "Unknown"): Promise<void> {
  const now = new Date().toISOString();
  const condition = { type: "Ready", status, reason: "Test", lastHeartbeatTime: now, lastTransitionTime: now };
  await plane.api.request(`/api/v1/nodes/${name}/status`, {
    method: "PATCH",
    contentType: "application/strategic-merge-patch+json",
    body: { status: { conditions: [condition] } },
  });
}

/** Such nodes, until disposed; the pods of the namespace go before them. */
export async function makeNodes(
  plane: ControlPlane,
  objects: Objects,
  names: readonly string[],
): Promise<AsyncDisposable> {
  for (const name of names) {
    await createNode(plane, name);
  }
  return {
    async [Symbol.asyncDispose]() {
      for (const pod of await objects.list(resources.pod)) {
        await objects.remove(resources.pod, pod.metadata.name, 0);
      }
      for (const name of names) {
        await plane.api.request(`/api/v1/nodes/${name}`, { method: "DELETE" });
      }
    },
  };
}
