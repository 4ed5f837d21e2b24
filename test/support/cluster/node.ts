/** The programs of one node: containerd, kubelet, kube-proxy. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Binaries } from "./binaries.ts";
import { issueCertificate } from "./certificates.ts";
import { run as runCommand } from "./command.ts";
import type { ControlPlane } from "./control-plane.ts";
import { startDaemon, untilUp } from "./daemon.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { inNamespace } from "./network.ts";
import { environmentLabel, writeContainerdConfig, writeKubeletConfig, writeKubeProxyConfig } from "./node-config.ts";
import { daemonName, type NodePlan } from "./node-plan.ts";
import type { Run } from "./run-folder.ts";
import { waitFor } from "./wait.ts";

/** Runs `ctr` against a node's containerd in the namespace that the kubelet uses. */
export function ctr(
  socket: string,
  args: readonly string[],
  options: { input?: string; timeout?: number } = {},
): Promise<string> {
  return runCommand(["ctr", "--address", socket, "--namespace", "k8s.io", ...args], options);
}

/** Starts containerd, waits until it answers, and gives it images from OCI archives. */
export async function startContainerd(run: Run, node: NodePlan, images: readonly string[]): Promise<void> {
  const config = await writeContainerdConfig(node);
  const daemon = await startDaemon(
    run,
    daemonName("containerd", node),
    inNamespace(node, ["containerd", "--config", config, "--log-level", "warn"]),
  );
  await untilUp(
    `containerd of ${node.name}`,
    daemon,
    async () => existsSync(node.containerdSocket) && (await ctr(node.containerdSocket, ["version"])),
  );
  for (const image of images) await importImage(node, image);
}

export async function importImage(node: NodePlan, archive: string): Promise<void> {
  await ctr(node.containerdSocket, ["images", "import", archive]);
}

export async function startKubelet(plane: ControlPlane, programs: Binaries, node: NodePlan): Promise<void> {
  const user = await issueCertificate(plane.authority, `kubelet-${node.name}`, {
    commonName: `system:node:${node.name}`,
    organization: "system:nodes",
  });
  const kubeconfig = await writeKubeconfig(join(node.folder, "kubelet.kubeconfig"), {
    ...{ url: plane.url, ca: plane.ca, user },
  });
  const config = await writeKubeletConfig(node, plane.addresses, plane.caFile);
  const folder = join(node.folder, "kubelet");
  await mkdir(folder, { recursive: true });
  const daemon = await startDaemon(
    plane.run,
    daemonName("kubelet", node),
    inNamespace(node, [
      ...[programs.kube, "kubelet", `--config=${config}`, `--kubeconfig=${kubeconfig}`, `--root-dir=${folder}`],
      ...[`--cert-dir=${join(folder, "pki")}`, `--hostname-override=${node.name}`, `--node-ip=${node.address}`],
      `--node-labels=${environmentLabel}=${node.kind}`,
    ]),
  );
  await untilUp(`Node ${node.name} registered`, daemon, async () => plane.api.request(`/api/v1/nodes/${node.name}`));
}

export async function startKubeProxy(plane: ControlPlane, programs: Binaries, node: NodePlan): Promise<void> {
  const user = await issueCertificate(plane.authority, `kube-proxy-${node.name}`, { commonName: "system:kube-proxy" });
  const kubeconfig = await writeKubeconfig(join(node.folder, "kube-proxy.kubeconfig"), {
    ...{ url: plane.url, ca: plane.ca, user },
  });
  const config = await writeKubeProxyConfig(node, kubeconfig);
  const daemon = await startDaemon(
    plane.run,
    daemonName("kube-proxy", node),
    inNamespace(node, [programs.kube, "kube-proxy", `--config=${config}`]),
  );
  const listServices = inNamespace(node, ["nft", "list", "map", "ip", "kube-proxy", "service-ips"]);
  await untilUp(`kube-proxy of ${node.name} serves`, daemon, async () =>
    (await runCommand(listServices)).includes(plane.addresses.kubernetesService),
  );
}

interface NodeObject {
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Waits until a Node's Ready condition is `True`, or is not. Deadline in milliseconds. */
export async function untilNodeIs(
  plane: ControlPlane,
  name: string,
  wanted: "Ready" | "NotReady",
  deadline: number,
): Promise<void> {
  await waitFor(`node ${name} ${wanted}`, { deadline, interval: 200 }, async () => {
    const node = await plane.api.request<NodeObject>(`/api/v1/nodes/${name}`);
    const ready = node.status.conditions?.some((each) => each.type === "Ready" && each.status === "True") ?? false;
    return ready === (wanted === "Ready");
  });
}
