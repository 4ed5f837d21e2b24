/** The compiled role `node` with a network namespace of its own for its tables: `nft` and `conntrack` on its PATH enter that one, while it asks the API server from here. */
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createNft, type Nft } from "../../src/node/nft.ts";
import { nodeRbac } from "../../src/node/rbac.ts";
import { run } from "./cluster/command.ts";
import { type ControlPlane, waitFor } from "./cluster/index.ts";
import { type RunningProcess, startProcess } from "./process.ts";

const executable = new URL("../../dist/netaminity", import.meta.url).pathname;

export interface NodeExecutable extends AsyncDisposable {
  /** The tables of the namespace. */
  nft: Nft;
  /** Runs the role's command to its end and gives what it printed. */
  once(...args: string[]): Promise<string>;
  start(...args: string[]): Promise<RunningProcess & { metrics(): Promise<string> }>;
}

/** Makes a Node of this name, and a ServiceAccount with exactly the chart's rights. */
export async function makeNodeExecutable(plane: ControlPlane, node: string): Promise<NodeExecutable> {
  const namespace = `nx${process.pid.toString(36)}${node}`;
  const folder = await mkdtemp(join(tmpdir(), "netaminity-node-"));
  const enter = ["nsenter", `--net=/run/netns/${namespace}`, "--"];
  await run(["ip", "netns", "add", namespace]);
  await mkdir(join(folder, "bin"));
  const path = `${process.env.PATH}:/usr/sbin:/sbin`;
  for (const name of ["nft", "conntrack"]) {
    const file = join(folder, "bin", name);
    await writeFile(file, `#!/bin/sh\nexec ${enter.join(" ")} ${Bun.which(name, { PATH: path })} "$@"\n`);
    await chmod(file, 0o755);
  }
  await plane.createNamespace(node);
  const kubeconfig = await plane.serviceAccountKubeconfig(node, "node");
  const group = "rbac.authorization.k8s.io";
  await plane.apply([
    { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name: node }, rules: nodeRbac },
    {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: node },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: node },
      subjects: [{ kind: "ServiceAccount", name: "node", namespace: node }],
    },
  ]);
  const environment = {
    PATH: `${join(folder, "bin")}:${path}`,
    NODE_NAME: node,
    NETAMINITY_KUBECONFIG: kubeconfig,
    NETAMINITY_LOG_FORMAT: "json",
  };
  return {
    nft: createNft([...enter, "nft"]),
    once: async (...args) => await run([executable, "node", ...args], { env: environment }),
    async start(...args) {
      const started = startProcess([executable, "node", "--health-listen", "127.0.0.1:0", ...args], environment);
      const { fields } = await started.log.first("listening", {}, 20_000);
      const get = async (of: string) => await (await fetch(`http://${fields.health}${of}`)).text();
      await waitFor("ready", { deadline: 30_000 }, async () => (await get("/readyz")) === "ready\n");
      return Object.assign(started, { metrics: () => get("/metrics") });
    },
    async [Symbol.asyncDispose]() {
      await run(["ip", "netns", "del", namespace]);
      await rm(folder, { recursive: true });
    },
  };
}

/** Makes the Node itself, with a range of pods and an address. */
export async function makeNodeObject(
  plane: ControlPlane,
  name: string,
  podCidr: string,
  address: string,
): Promise<void> {
  const node = { apiVersion: "v1", kind: "Node", metadata: { name }, spec: { podCIDR: podCidr, podCIDRs: [podCidr] } };
  await plane.apply([node]);
  await plane.api.request(`/api/v1/nodes/${name}/status`, {
    method: "PATCH",
    contentType: "application/merge-patch+json",
    body: { status: { addresses: [{ type: "InternalIP", address }] } },
  });
}

/** Gives a LoadBalancer Service its address, as a controller of load balancers does. */
export async function giveAddress(plane: ControlPlane, namespace: string, name: string, ip: string): Promise<void> {
  await plane.api.request(`/api/v1/namespaces/${namespace}/services/${name}/status`, {
    method: "PATCH",
    contentType: "application/merge-patch+json",
    body: { status: { loadBalancer: { ingress: [{ ip }] } } },
  });
}

/** A slice that leads a Service to one pod. */
export function sliceOf(namespace: string, service: string, address: string, node: string): object {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: `${service}-1`, namespace, labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    endpoints: [{ addresses: [address], nodeName: node, conditions: { ready: true } }],
    ports: [],
  };
}
