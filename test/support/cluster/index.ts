/**
 * A real Kubernetes for tests, as processes of this machine (docs/cluster.md). Needs Linux, root for nodes, and what
 * `scripts/setup cluster` installs.
 *
 * The control plane alone (etcd + kube-apiserver, 3 s, RBAC on):
 *
 *     await using plane = await startControlPlane({ controllerManager: true });
 *     await plane.apply(await Bun.file("crd/tunnels.yaml").text());
 *     await plane.createNamespace("demo");
 *     const kubeconfig = await plane.serviceAccountKubeconfig("demo", "operator"); // a file; bind roles to it first
 *     await plane.kubectl(["get", "tunnels", "-n", "demo"], { kubeconfig });
 *     await plane.api.request("/api/v1/namespaces/demo/services"); // JSON as administrator
 *     await plane.stopApiServer(); // data is kept
 *     await plane.startApiServer();
 *
 * With nodes (a Cluster is a ControlPlane too):
 *
 *     await using cluster = await startCluster({ cloudNodes: 2, privateNodes: 1 });
 *     await cluster.loadImage("dist/netaminity-image.tar");
 *     await cluster.helm(["install", "netaminity", "chart", "-n", "netaminity-system", "--create-namespace"]);
 *     const [pod] = await cluster.pods.list("demo", "app=consumer");
 *     await cluster.pods.exec({ namespace: "demo", pod: "consumer" }, ["/bin/bun", "-e", "..."]);
 *     await cluster.pods.kill({ namespace: "demo", pod: "proxy" }); // its process, as in a crash
 *     await cluster.powerOff("cloud-2");
 *     await cluster.untilNodeIs("cloud-2", "NotReady");
 *     await cluster.powerOn("cloud-2");
 *     await using hole = await cluster.blackHole("private-1", { direction: "in", peer: "cloud-1" });
 *     await hole.heal();
 *     await using reachable = await startCluster({ cloudNodes: 1, privateNodes: 0 }); // a second cluster
 *     await cluster.joinTo(reachable); // from here to there only
 *
 * All that a run makes is below `run.folder` (logs in `logs/`), its addresses follow from `run.index`, and its processes
 * carry its mark, so that what a crashed process left is swept by the next start or by `scripts/cluster down`.
 */
export { type ApiClient, ApiError } from "./api-client.ts";
export { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";
export { CommandError } from "./command.ts";
export { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "./control-plane.ts";
export type { BlackHole, Fault } from "./faults.ts";
export type { NodePlan } from "./node-plan.ts";
export type { PodName, Pods } from "./pods.ts";
export { toolboxImage, writeToolbox } from "./toolbox.ts";
export { DeadlineError, waitFor } from "./wait.ts";
