import { kubeconfigCredentials } from "../../src/kube/kubeconfig.ts";
import { resourcePath } from "../../src/kube/resources.ts";
import { createLog } from "../../src/log.ts";
import type { PolicyRule } from "../../src/operator/rbac.ts";
import { resources } from "../../src/operator/resources.ts";
import { type OpenProvider, openNetmaker } from "../../src/publish/open.ts";
import { type Publisher, type PublishOptions, startPublisher } from "../../src/publish/run.ts";
import { type ControlPlane, waitFor } from "../support/cluster/index.ts";
import { type ScriptedNetmaker, startNetmaker } from "../support/netmaker.ts";
import { publishRights } from "../support/publish-rights.ts";
import { type Objects, objectsOf } from "./objects.ts";
import { sharedPlane } from "./plane.ts";

/** A namespace with exactly the chart's rights, a scripted Netmaker, and Nodes that go when it is over. */
export interface PublishSite extends AsyncDisposable {
  plane: ControlPlane;
  namespace: string;
  kubeconfig: string;
  objects: Objects;
  netmaker: ScriptedNetmaker;
  /** One replica in this process. */
  start(options?: Partial<PublishOptions> & { clusterName?: string | undefined }): Publisher & AsyncDisposable;
  /** Makes a Node anew with these pod CIDRs: the API server lets nobody change them. */
  node(name: string, podCidrs?: readonly string[]): Promise<void>;
  removeNode(name: string): Promise<void>;
  /** `RANGE MESHNODE` of each rule, sorted. */
  rules(): string[];
  log: Record<string, unknown>[];
  until<T>(what: string, probe: () => T | Promise<T>, deadline?: number): Promise<T>;
}

export const leaseName = "publish";
export const outputName = "mesh-netsody";
const leader = { duration: 3000, renewDeadline: 2000, retry: 200 };

let sites = 0;

export async function startPublishSite(name: string): Promise<PublishSite> {
  const plane = await sharedPlane();
  sites += 1;
  const namespace = `publish-${name}-${sites}`;
  await plane.createNamespace(namespace);
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, "publish");
  await grant(plane, namespace);
  const netmaker = await startNetmaker();
  const log: Record<string, unknown>[] = [];
  const nodes = new Set<string>();
  const site: PublishSite = {
    ...{ plane, namespace, kubeconfig, netmaker, log },
    objects: objectsOf(plane, namespace),
    start({ clusterName, ...options } = {}) {
      const publisher = startPublisher({
        credentials: kubeconfigCredentials(kubeconfig),
        open: openScripted(netmaker, namespace, clusterName ?? "test"),
        interval: 300,
        dryRun: false,
        lease: { namespace, name: leaseName },
        version: "test",
        log: createLog({ level: "debug", format: "json", write: (line) => log.push(JSON.parse(line)) }),
        timing: { leader, watch: { firstBackoff: 50, maxBackoff: 500 }, debounce: 50, firstBackoff: 50 },
        ...options,
      });
      return Object.assign(publisher, { [Symbol.asyncDispose]: () => publisher.stop() });
    },
    async node(nodeName, podCIDRs) {
      await site.removeNode(nodeName);
      nodes.add(nodeName);
      const spec = podCIDRs === undefined ? {} : { spec: { podCIDR: podCIDRs[0], podCIDRs } };
      const metadata = { name: nodeName, labels: { site: namespace } };
      await plane.api.request("/api/v1/nodes", { body: { apiVersion: "v1", kind: "Node", metadata, ...spec } });
    },
    async removeNode(nodeName) {
      if (!nodes.delete(nodeName)) return;
      await plane.api.request(resourcePath(resources.node, { name: nodeName }), { method: "DELETE" });
    },
    rules: () =>
      [...netmaker.rules.values()].map(({ range, nodes: of }) => `${range} ${Object.keys(of).join()}`).sort(),
    async until(what, probe, deadline = 30_000) {
      try {
        return await waitFor(what, { deadline, interval: 50 }, async () => probe());
      } catch (error) {
        const last = log.slice(-8).map((line) => JSON.stringify(line));
        throw new Error(`publisher: ${last.join("\n")}\nrules: ${site.rules().join("\n")}`, { cause: error });
      }
    },
    async [Symbol.asyncDispose]() {
      await plane.api.request(`/api/v1/nodes?labelSelector=site%3D${namespace}`, { method: "DELETE" });
      await netmaker[Symbol.asyncDispose]();
      await plane.api.request(`/api/v1/namespaces/${namespace}`, { method: "DELETE" });
      await plane.kubectl(["delete", "clusterrole,clusterrolebinding", namespace, "--wait=false"]);
      await plane.kubectl(["delete", "role,rolebinding", namespace, "-n", "default", "--wait=false"]);
    },
  };
  return site;
}

function openScripted(netmaker: ScriptedNetmaker, namespace: string, clusterName: string): OpenProvider {
  const { apiVersion, kind } = resources.lease;
  return openNetmaker({
    url: netmaker.url,
    login: { username: "netaminity", password: "correct horse" },
    caFile: undefined,
    // Empty: as when nobody gives a name.
    clusterName: clusterName === "" ? undefined : clusterName,
    force: false,
    adoptKaputNot: false,
    version: "test",
    regarded: { apiVersion, kind, metadata: { namespace, name: leaseName, uid: "" } },
  });
}

async function grant(plane: ControlPlane, namespace: string): Promise<void> {
  const group = "rbac.authorization.k8s.io";
  const output = { plural: "secrets" as const, name: outputName };
  const rights = publishRights({ lease: leaseName, readsClusterName: true, output });
  const pair = (kind: "Role" | "ClusterRole", rules: PolicyRule[], place?: string) => {
    const metadata = { name: namespace, ...(place === undefined ? {} : { namespace: place }) };
    const subjects = [{ kind: "ServiceAccount", name: "publish", namespace }];
    const roleRef = { apiGroup: group, kind, name: namespace };
    return [
      { apiVersion: `${group}/v1`, kind, metadata, rules },
      { apiVersion: `${group}/v1`, kind: `${kind}Binding`, metadata, roleRef, subjects },
    ];
  };
  await plane.apply([
    ...pair("ClusterRole", rights.cluster),
    ...pair("Role", rights.nodeEvents, "default"),
    ...pair("Role", rights.own, namespace),
  ]);
}

/** Requests to the API server, by `verb resource code`. */
export async function kubeRequests({ metrics }: Publisher): Promise<Record<string, number>> {
  const { values } = await metrics.apiRequests.get();
  return Object.fromEntries(
    values.map(({ labels: { verb, resource, code }, value }) => [`${verb} ${resource} ${code}`, value]),
  );
}

export async function passesOf({ metrics }: Publisher): Promise<number> {
  return (await metrics.passes.get()).values.reduce((sum, { value }) => sum + value, 0);
}

/** Waits until that many more passes have ended, and says what the mesh was asked meanwhile. */
export async function requestsWithin(site: PublishSite, publisher: Publisher, passes: number): Promise<string[]> {
  const before = await passesOf(publisher);
  site.netmaker.requests.length = 0;
  await site.until(`${passes} passes`, async () => (await passesOf(publisher)) >= before + passes);
  return [...site.netmaker.requests];
}
