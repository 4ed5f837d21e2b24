/** Configuration files of a node's programs. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { apiGroup } from "../../../src/names.ts";
import type { Addresses } from "./addresses.ts";
import type { NodePlan } from "./node-plan.ts";

export const pauseImage = "localhost/pause:1";

/** Label that tells cloud nodes from private ones, as in the project's examples. */
export const environmentLabel = `${apiGroup}/environment`;

export async function writeContainerdConfig(node: NodePlan): Promise<string> {
  const cni = join(node.folder, "cni");
  await Promise.all([mkdir(cni, { recursive: true }), mkdir(node.volatileFolder, { recursive: true })]);
  const criPlugin = `plugins."io.containerd.grpc.v1.cri"`;
  const file = join(node.folder, "containerd.toml");
  await writeFile(
    file,
    `version = 2
root = "${join(node.folder, "containerd")}"
state = "${join(node.volatileFolder, "containerd")}"
disabled_plugins = ["io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "${node.containerdSocket}"
[${criPlugin}]
  sandbox_image = "${pauseImage}"
  netns_mounts_under_state_dir = true
  # Root without CAP_SYS_RESOURCE may not protect a process from the OOM killer, and runc fails when it shall.
  restrict_oom_score_adj = true
  [${criPlugin}.cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${cni}"
  [${criPlugin}.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [${criPlugin}.containerd.runtimes.runc.options]
      Root = "${join(node.volatileFolder, "runc")}"
`,
  );
  await writeFile(join(cni, "10-pods.conflist"), JSON.stringify(podNetwork(node), null, 2));
  return file;
}

/** Point-to-point links and no bridge: a Service's reply from a pod of the same node must pass the node's NAT. */
function podNetwork(node: NodePlan): object {
  const ipam = {
    type: "host-local",
    ranges: [[{ subnet: node.podCidr }]],
    routes: [{ dst: "0.0.0.0/0" }],
    // Outlives the loss of power, as on a real node: else a new pod gets the address of one whose network is still to be taken down, and loses its route with that.
    dataDir: join(node.folder, "pod-addresses"),
  };
  return {
    cniVersion: "0.4.0",
    name: "pods",
    plugins: [
      { type: "ptp", ipMasq: false, ipam },
      { type: "portmap", capabilities: { portMappings: true }, snat: true },
    ],
  };
}

export async function writeKubeletConfig(node: NodePlan, addresses: Addresses, caFile: string): Promise<string> {
  const resolver = join(node.folder, "resolv.conf");
  await writeFile(resolver, `nameserver ${addresses.bridge}\n`);
  const file = join(node.folder, "kubelet.json");
  const config = {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: node.address,
    readOnlyPort: 0,
    healthzPort: 0,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: caFile } },
    authorization: { mode: "Webhook" },
    clusterDomain: "cluster.local",
    clusterDNS: [addresses.dnsService],
    resolvConf: resolver,
    containerRuntimeEndpoint: `unix://${node.containerdSocket}`,
    // Works on cgroup v1 and v2, without systemd, below one cgroup that the clean-up removes.
    ...{ cgroupDriver: "cgroupfs", cgroupRoot: node.cgroup, cgroupsPerQOS: false, enforceNodeAllocatable: [] },
    ...{ failCgroupV1: false, failSwapOn: false },
    podLogsDir: join(node.folder, "pod-logs"),
    volumePluginDir: join(node.folder, "volume-plugins"),
    // A full disk of the machine is not this node's pressure, and there is nothing to collect.
    evictionHard: { "memory.available": "50Mi", "nodefs.available": "0%", "imagefs.available": "0%" },
    ...{ imageGCHighThresholdPercent: 100, imageGCLowThresholdPercent: 99 },
    ...{ nodeStatusUpdateFrequency: "2s", syncFrequency: "10s", fileCheckFrequency: "1h" },
    ...{ enableDebuggingHandlers: true, maxPods: 100, registerNode: true },
  };
  await writeFile(file, JSON.stringify(config, null, 2));
  return file;
}

export async function writeKubeProxyConfig(node: NodePlan, kubeconfig: string): Promise<string> {
  const file = join(node.folder, "kube-proxy.json");
  const config = {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    hostnameOverride: node.name,
    clientConnection: { kubeconfig },
    // The namespace shares the machine's limits and may not set them.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    nftables: { minSyncPeriod: "100ms", syncPeriod: "30s" },
    healthzBindAddress: `${node.address}:10256`,
    metricsBindAddress: "127.0.0.1:10249",
  };
  await writeFile(file, JSON.stringify(config, null, 2));
  return file;
}
