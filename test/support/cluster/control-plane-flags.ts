/** Command lines of the control plane. Everything that only costs time or memory on a small machine is off. */
import { join } from "node:path";
import { type Addresses, ports } from "./addresses.ts";
import type { Binaries } from "./binaries.ts";
import type { Run } from "./run-folder.ts";

export function etcdCommand(programs: Binaries, run: Run, addresses: Addresses): string[] {
  const client = `http://${addresses.loopback}:${ports.etcdClient}`;
  const peer = `http://${addresses.loopback}:${ports.etcdPeer}`;
  return [
    ...[programs.kube, "etcd", "--name=etcd", `--data-dir=${join(run.folder, "etcd")}`],
    ...[`--listen-client-urls=${client}`, `--advertise-client-urls=${client}`, `--listen-peer-urls=${peer}`],
    ...[`--initial-advertise-peer-urls=${peer}`, `--initial-cluster=etcd=${peer}`],
    // A test's data need not survive a power cut, and fsync is most of etcd's time.
    ...["--unsafe-no-fsync", "--log-level=warn"],
  ];
}

export function apiServerCommand(
  programs: Binaries,
  run: Run,
  addresses: Addresses,
  options: { readonly hasNodes?: boolean },
): string[] {
  const pki = (file: string): string => join(run.folder, "pki", file);
  return [
    ...[programs.kube, "kube-apiserver", `--etcd-servers=http://${addresses.loopback}:${ports.etcdClient}`],
    ...[`--bind-address=${addresses.apiServer}`, `--advertise-address=${addresses.apiServer}`],
    // Without nodes nobody uses the Service `kubernetes`, and a loopback address may not stand in its EndpointSlice.
    ...[`--secure-port=${ports.apiServer}`, ...(options.hasNodes ? [] : ["--endpoint-reconciler-type=none"])],
    ...[`--service-cluster-ip-range=${addresses.serviceCidr}`, "--authorization-mode=Node,RBAC"],
    ...[`--client-ca-file=${pki("ca.crt")}`, `--tls-cert-file=${pki("apiserver.crt")}`],
    ...[`--tls-private-key-file=${pki("apiserver.key")}`, `--service-account-key-file=${pki("service-account.pub")}`],
    ...[`--service-account-signing-key-file=${pki("service-account.key")}`, "--allow-privileged"],
    ...["--service-account-issuer=https://kubernetes.default.svc.cluster.local", "--profiling=false"],
    ...[`--kubelet-client-certificate=${pki("apiserver.crt")}`, `--kubelet-client-key=${pki("apiserver.key")}`],
    ...["--kubelet-preferred-address-types=InternalIP", "--anonymous-auth=false", "--shutdown-delay-duration=0s"],
  ];
}

export function controllerManagerCommand(
  programs: Binaries,
  run: Run,
  addresses: Addresses,
  kubeconfig: string,
): string[] {
  const pki = (file: string): string => join(run.folder, "pki", file);
  const needless = ["horizontal-pod-autoscaler-controller", "service-lb-controller", "node-route-controller"];
  return [
    ...[programs.kube, "kube-controller-manager", `--kubeconfig=${kubeconfig}`, "--leader-elect=false"],
    ...["--secure-port=0", "--profiling=false", `--root-ca-file=${pki("ca.crt")}`],
    // The default of 20 requests a second makes garbage collection the slowest part of a test.
    ...["--kube-api-qps=500", "--kube-api-burst=1000"],
    ...[`--service-account-private-key-file=${pki("service-account.key")}`],
    `--controllers=*,${needless.map((name) => `-${name}`).join(",")}`,
    // A lost node becomes NotReady within seconds instead of 50.
    ...["--node-monitor-period=1s", "--node-monitor-grace-period=8s", "--node-startup-grace-period=20s"],
    ...[`--service-cluster-ip-range=${addresses.serviceCidr}`, "--allocate-node-cidrs=false"],
  ];
}

export function schedulerCommand(programs: Binaries, _run: Run, _addresses: Addresses, kubeconfig: string): string[] {
  const flags = ["--leader-elect=false", "--secure-port=0", "--profiling=false"];
  return [programs.kube, "kube-scheduler", `--kubeconfig=${kubeconfig}`, ...flags];
}
