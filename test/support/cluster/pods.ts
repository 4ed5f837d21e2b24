/** Pods seen from their node, so that it works for nodes that the API server cannot reach too. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { V1Pod } from "@kubernetes/client-node";
import type { ControlPlane } from "./control-plane.ts";
import { killProcesses } from "./daemon.ts";
import { ctr } from "./node.ts";
import type { NodePlan } from "./node-plan.ts";

export interface PodName {
  readonly namespace: string;
  readonly pod: string;
  /** Default: the pod's first container. */
  readonly container?: string;
}

export interface Pods {
  get(name: PodName): Promise<V1Pod>;
  list(namespace: string, labelSelector?: string): Promise<V1Pod[]>;
  /** Runs a command in the container; its output. Throws CommandError unless it exits with 0. */
  exec(name: PodName, command: readonly string[], options?: { input?: string; timeout?: number }): Promise<string>;
  /** What the container wrote, all its restarts in order. */
  logs(name: PodName): Promise<string>;
  /** Process id, on this machine, of the container's first process. */
  processId(name: PodName): Promise<number>;
  /** Kills that process: the container ends as after a crash, and its kubelet restarts it. */
  kill(name: PodName): Promise<void>;
}

let execs = 0;

export function podsOf(plane: ControlPlane, nodes: readonly NodePlan[]): Pods {
  const get: Pods["get"] = (name) => plane.api.request<V1Pod>(`/api/v1/namespaces/${name.namespace}/pods/${name.pod}`);
  const locate = async (name: PodName): Promise<{ node: NodePlan; id: string; pod: V1Pod; container: string }> => {
    const pod = await get(name);
    const node = nodes.find((each) => each.name === pod.spec?.nodeName);
    if (node === undefined) throw new Error(`pod ${name.pod} is on no node`);
    const container = name.container ?? pod.spec?.containers[0]?.name ?? "";
    const status = pod.status?.containerStatuses?.find((each) => each.name === container);
    const id = status?.containerID?.replace("containerd://", "");
    if (id === undefined) throw new Error(`container ${container} of pod ${name.pod} was never started`);
    return { node, id, pod, container };
  };
  const processId: Pods["processId"] = async (name) => {
    const { node, id } = await locate(name);
    const task = join(node.volatileFolder, "containerd/io.containerd.runtime.v2.task/k8s.io", id);
    return Number(await readFile(join(task, "init.pid"), "utf8"));
  };
  return {
    get,
    async list(namespace, labelSelector) {
      const query = labelSelector === undefined ? "" : `?labelSelector=${encodeURIComponent(labelSelector)}`;
      const answer = await plane.api.request<{ items: V1Pod[] }>(`/api/v1/namespaces/${namespace}/pods${query}`);
      return answer.items;
    },
    async exec(name, command, options = {}) {
      const { node, id } = await locate(name);
      execs += 1;
      return ctr(
        node.containerdSocket,
        ["tasks", "exec", "--exec-id", `exec-${process.pid}-${execs}`, id, ...command],
        options,
      );
    },
    async logs(name) {
      const { node, pod, container } = await locate(name);
      const folder = join(node.folder, "pod-logs", `${name.namespace}_${name.pod}_${pod.metadata?.uid}`, container);
      const files = (await readdir(folder)).filter((file) => /^\d+\.log$/.test(file));
      files.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
      const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
      return texts.map(plainLog).join("");
    },
    processId,
    kill: async (name) => killProcesses([await processId(name)]),
  };
}

/** The runtime's log lines are `TIME STREAM F|P TEXT`, where P means that the line goes on. */
function plainLog(text: string): string {
  const entries = text.split("\n").filter((line) => line !== "");
  return entries
    .map((line) => {
      const [, , tag = "", ...rest] = line.split(" ");
      return rest.join(" ") + (tag.startsWith("P") ? "" : "\n");
    })
    .join("");
}
