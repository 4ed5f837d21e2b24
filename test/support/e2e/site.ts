/** The cluster of pattern one with the operator, the backend and the consumers: made once per run. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Cluster, startCluster, waitFor } from "../cluster/index.ts";
import { environmentLabel } from "../cluster/node-config.ts";
import { type Consumer, consumerAt } from "./consumer.ts";
import { loadImages, nextTag, peerArchive, productArchive, productImage, root } from "./images.ts";
import { type Kinds, kindsOf } from "./kinds.ts";
import { backendNamespace, backendObjects, consumerLabel, consumerObject, tunnelNamespace } from "./peers.ts";
import { formatTable, type Row } from "./table.ts";

export interface Site extends AsyncDisposable {
  readonly cluster: Cluster;
  /** The objects of the namespace of the tunnels. */
  readonly kinds: Kinds;
  /** Image archives: the product and the peer. */
  readonly archives: readonly string[];
  readonly rows: Row[];
  /** The consumer that runs on a cloud node now. */
  consumerOn(node: string): Promise<Consumer>;
}

export const operatorNamespace = "netaminity-system";
export const cloudNodes = ["cloud-1", "cloud-2"] as const;

export function otherCloudNode(node: string): string {
  return node === "cloud-1" ? "cloud-2" : "cloud-1";
}

/** Enforced wherever the tests run pods, except for the nodes' network. */
export const restricted = { "pod-security.kubernetes.io/enforce": "restricted" };

export async function startSite(): Promise<Site> {
  // Beside each other: building is work for one core, and the cluster starts mostly waiting.
  const cluster = await startCluster();
  const stop = stopOnSignal(cluster);
  try {
    const folder = join(cluster.run.folder, "archives");
    await mkdir(folder, { recursive: true });
    const archives = [await productArchive(folder), await peerArchive(folder)];
    await loadImages(cluster, archives);
    await preparePeers(cluster);
    await installOperator(cluster, proxyHostValues(cluster));
    const site = siteOf(cluster, archives);
    await untilServing(site);
    return { ...site, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Two operators, one per cloud node, so that the loss of a node leaves one, and the host that NodePorts need. */
export const proxyHostValues = (cluster: Cluster): object => ({
  operator: { replicas: 2, nodeSelector: { [environmentLabel]: "cloud" } },
  config: { proxyHost: addressOf(cluster, "cloud-1") },
});

export function addressOf(cluster: Cluster, node: string): string {
  const found = cluster.nodes.find(({ name }) => name === node);
  if (found === undefined) throw new Error(`no node ${node}`);
  return found.address;
}

/** The processes of a cluster outlive the one that made them, so that a signal must end them before it ends us. */
function stopOnSignal(cluster: Cluster): () => Promise<void> {
  const interrupted = (): void => {
    void cluster.stop().finally(() => process.exit(130));
  };
  process.on("SIGTERM", interrupted).on("SIGINT", interrupted);
  return async () => {
    await cluster.stop();
    process.off("SIGTERM", interrupted).off("SIGINT", interrupted);
  };
}

async function preparePeers(cluster: Cluster): Promise<void> {
  for (const namespace of [operatorNamespace, backendNamespace, tunnelNamespace]) {
    await cluster.createNamespace(namespace, restricted);
  }
  await cluster.apply([...backendObjects(), consumerObject()]);
}

/** Installs the chart from the local image and waits for it; `values` over what the tests need. */
export async function installOperator(cluster: Cluster, values: object): Promise<void> {
  await helmUpgrade(cluster, productImage.tag, values);
}

export const upgradeOperator = (cluster: Cluster, values: object): Promise<void> =>
  helmUpgrade(cluster, nextTag, values);

/** Another version of the chart, with the image of that tag. */
export const downgradeOperator = (cluster: Cluster, chart: string, tag: string, values: object): Promise<void> =>
  helmUpgrade(cluster, tag, values, chart);

async function helmUpgrade(cluster: Cluster, tag: string, values: object, chart = join(root, "chart")): Promise<void> {
  const image = { ...productImage, tag, pullPolicy: "Never" };
  const file = join(cluster.run.folder, "values.json");
  await Bun.write(file, JSON.stringify(merge({ operator: { image }, agent: { image, drainTimeout: "10s" } }, values)));
  const flags = ["--namespace", operatorNamespace, "--values", file, "--wait", "--timeout", "90s"];
  await cluster.helm(["upgrade", "--install", "netaminity", chart, ...flags], { timeout: 100_000 });
}

function merge(base: Record<string, unknown>, over: object): Record<string, unknown> {
  const merged = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    const isNested = typeof below === "object" && below !== null && typeof value === "object" && value !== null;
    merged[key] = isNested ? merge({ ...below }, value) : value;
  }
  return merged;
}

function siteOf(cluster: Cluster, archives: readonly string[]): Omit<Site, keyof AsyncDisposable> {
  const rows: Row[] = [];
  return {
    ...{ cluster, archives, rows, kinds: kindsOf(cluster, tunnelNamespace) },
    consumerOn: (node) =>
      waitFor(`a consumer on ${node}`, { deadline: 60_000 }, async () => {
        const pods = await cluster.pods.list(tunnelNamespace, consumerLabel);
        const pod = pods.find(({ spec, status }) => spec?.nodeName === node && status?.containerStatuses?.[0]?.ready);
        const address = pod?.status?.podIP;
        return address === undefined ? undefined : consumerAt(node, address);
      }),
  };
}

async function untilServing(site: Omit<Site, keyof AsyncDisposable>): Promise<void> {
  const { cluster } = site;
  const rollout = (namespace: string, what: string): Promise<string> =>
    cluster.kubectl(["rollout", "status", "--namespace", namespace, what, "--timeout=60s"], { timeout: 65_000 });
  await Promise.all([
    rollout(backendNamespace, "deployment/private-api"),
    rollout(tunnelNamespace, "daemonset/consumer"),
  ]);
}

/** Prints what was measured. */
export function printTable(site: Site): void {
  if (site.rows.length > 0) console.log(`\n${formatTable(site.rows)}\n`);
}
