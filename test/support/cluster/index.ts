/**
 * A real Kubernetes for tests, as processes of this machine. Needs Linux, root only for nodes, and the programs that
 * `scripts/setup cluster` installs.
 *
 * The control plane alone (etcd + kube-apiserver, 3 s, RBAC on):
 *
 *     await using plane = await startControlPlane({ controllerManager: true });
 *     await plane.apply(await Bun.file("crd/tunnels.yaml").text());
 *     await plane.createNamespace("demo");
 *     const kubeconfig = await plane.serviceAccountKubeconfig("demo", "operator"); // a file; bind roles to it first
 *     await plane.kubectl(["get", "tunnels", "-n", "demo"]);
 *     await plane.api.request("/api/v1/namespaces/demo/services"); // JSON as administrator
 *     await plane.stopApiServer(); // data is kept
 *     await plane.startApiServer();
 *
 * Everything a run makes is below `plane.run.folder` (logs in `logs/`), its addresses follow from `plane.run.index`, and
 * its processes carry its mark, so that a run whose process crashed is swept by the next start or `scripts/cluster down`.
 */
export { type ApiClient, ApiError } from "./api-client.ts";
export { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";
export { CommandError } from "./command.ts";
export { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "./control-plane.ts";
export type { BlackHole, Fault } from "./faults.ts";
export { type ImageOptions, withLibraries, writeImage } from "./image.ts";
export type { NodePlan } from "./node-plan.ts";
export type { PodName, Pods } from "./pods.ts";
export { toolboxImage, writeToolbox } from "./toolbox.ts";
export { DeadlineError, waitFor } from "./wait.ts";
