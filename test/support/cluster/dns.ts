/** CoreDNS as a process beside the control plane, behind the Service `kube-dns` that has no selector. */
import { Resolver } from "node:dns/promises";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Binaries } from "./binaries.ts";
import type { ControlPlane } from "./control-plane.ts";
import { startDaemon, untilUp } from "./daemon.ts";

export async function startDns(plane: ControlPlane, programs: Binaries): Promise<void> {
  const folder = join(plane.run.folder, "dns");
  await mkdir(folder, { recursive: true });
  const corefile = join(folder, "Corefile");
  await writeFile(
    corefile,
    `.:53 {
  bind ${plane.addresses.bridge}
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${plane.kubeconfig}
    ttl 1
  }
}
`,
  );
  const daemon = await startDaemon(plane.run, "coredns", [
    programs.clustertools,
    "coredns",
    "-conf",
    corefile,
    "-quiet",
  ]);
  await plane.apply(dnsObjects(plane));
  const resolver = new Resolver({ timeout: 500, tries: 1 });
  resolver.setServers([plane.addresses.bridge]);
  await untilUp("CoreDNS answers", daemon, () => resolver.resolve4("kubernetes.default.svc.cluster.local"));
}

function dnsObjects(plane: ControlPlane): object[] {
  const namespace = "kube-system";
  const ports = [
    { name: "dns", protocol: "UDP", port: 53 },
    { name: "dns-tcp", protocol: "TCP", port: 53 },
  ];
  return [
    {
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: "kube-dns", namespace } },
      spec: { clusterIP: plane.addresses.dnsService, ports },
    },
    {
      ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", addressType: "IPv4", ports },
      metadata: { name: "kube-dns", namespace, labels: { "kubernetes.io/service-name": "kube-dns" } },
      endpoints: [{ addresses: [plane.addresses.bridge], conditions: { ready: true } }],
    },
  ];
}
