/** A real API server, the compiled operator under the chart's rules, and many Tunnels: what `bench-operator.ts` and `bench-probes.ts` measure with. */
import { groupVersion } from "../src/names.ts";
import { rbac } from "../src/operator/rbac.ts";
import { type ControlPlane, waitFor } from "../test/support/cluster/index.ts";
import { type RunningProcess, startProcess } from "../test/support/process.ts";

const root = new URL("..", import.meta.url).pathname;
export const minutes = 60_000;
const system = "netaminity-system";
export const namespaces = 10;
/** Milliseconds without a write and a reconcile after which the operator counts as at rest. */
export const restWindow = 3000;

export interface Running {
  process: RunningProcess;
  /** Values of the metrics by `name{labels}`. */
  metrics(): Promise<Map<string, number>>;
}

/** The number of Tunnels that the command line asks for; ends the process when that is none. */
export function tunnelsWanted(program: string): number {
  const given = process.argv[2] ?? "1000";
  const tunnels = Number(given);
  if (Number.isInteger(tunnels) && tunnels >= 1 && tunnels <= 5000) return tunnels;
  console.error(`${program}: TUNNELS was given ${JSON.stringify(given)}; accepted: a whole number from 1 to 5000`);
  process.exit(2);
}

/** Our kinds, namespaces, and a ServiceAccount that may do what the chart's may. */
export async function prepare(cluster: ControlPlane): Promise<string> {
  for (const file of ["tunnels", "proxies", "targets"]) {
    await cluster.apply(await Bun.file(`${root}crd/${file}.yaml`).text());
  }
  await cluster.createNamespace(system);
  for (let i = 0; i < namespaces; i += 1) {
    await cluster.createNamespace(`bench-${i}`);
  }
  const file = await cluster.serviceAccountKubeconfig(system, "operator");
  const group = "rbac.authorization.k8s.io";
  const metadata = { name: "netaminity" };
  const rules = [...rbac.cluster, ...rbac.namespaced, ...rbac.leaderElection, ...rbac.clusterGuard];
  await cluster.apply([
    { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata, rules },
    {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata,
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "netaminity" },
      subjects: [{ kind: "ServiceAccount", name: "operator", namespace: system }],
    },
  ]);
  return file;
}

export async function startOperator(file: string): Promise<Running> {
  const started = startProcess([`${root}dist/netaminity`, "operator", "--health-listen", "127.0.0.1:0"], {
    NETAMINITY_KUBECONFIG: file,
    NETAMINITY_LOG_FORMAT: "json",
  });
  const { fields } = await started.log.first("listening", {}, minutes);
  const get = async (path: string) => (await fetch(`http://${fields.health}${path}`)).text();
  await waitFor("ready", { deadline: minutes }, async () => (await get("/readyz")) === "ready\n");
  return { process: started, metrics: async () => parseMetrics(await get("/metrics")) };
}

/** `more` is merged into each spec. */
export async function createTunnels(cluster: ControlPlane, count: number, more: object = {}): Promise<void> {
  await each(
    Array.from({ length: count }, (_, i) => i),
    async (i) => {
      const spec = { service: { name: `tunnel-${i}` }, target: { endpoint: "backend.example.net:80" }, ...more };
      await cluster.api.request(`/apis/${groupVersion}/namespaces/bench-${i % namespaces}/tunnels`, {
        body: { apiVersion: groupVersion, kind: "Tunnel", metadata: { name: `tunnel-${i}` }, spec },
      });
    },
  );
}

/** Eight at once. */
export async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

export function parseMetrics(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
}

export function sum(metrics: Map<string, number>, pattern: RegExp): number {
  return [...metrics].reduce((total, [name, value]) => (pattern.test(name) ? total + value : total), 0);
}

/** Waits until nothing was written and reconciled for a while, and gives the metrics of then. */
export async function atRest({ metrics }: Running): Promise<Map<string, number>> {
  let last = "";
  let since = performance.now();
  return waitFor("at rest", { deadline: 30 * minutes, interval: 200 }, async () => {
    const now = await metrics();
    const state = `${writes(now)} ${sum(now, /_reconciles_total/)}`;
    if (state !== last) {
      last = state;
      since = performance.now();
    }
    return performance.now() - since >= restWindow && now;
  });
}

export function writes(metrics: Map<string, number>): number {
  return sum(metrics, /_api_requests_total\{verb="(create|update|patch|delete)",resource="(?!leases)/);
}

export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}

export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

export function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join("\n");
}
