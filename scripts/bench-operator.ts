#!/usr/bin/env bun
/**
 * What a thousand Tunnels cost the operator: `bun scripts/bench-operator.ts [TUNNELS]`. Runs the compiled executable against a real API server
 * under the chart's rules, without kubelets and controllers, so that only the operator and the API server work.
 */
import { groupVersion } from "../src/names.ts";
import { rbac } from "../src/operator/rbac.ts";
import { type ControlPlane, startControlPlane, waitFor } from "../test/support/cluster/index.ts";
import { type RunningProcess, startProcess } from "../test/support/process.ts";

const root = new URL("..", import.meta.url).pathname;
const minutes = 60_000;
const system = "netaminity-system";
const namespaces = 10;
/** Milliseconds without a write and a reconcile after which the operator counts as at rest. */
const restWindow = 3000;

interface Running {
  process: RunningProcess;
  /** Values of the metrics by `name{labels}`. */
  metrics(): Promise<Map<string, number>>;
}

const tunnels = Number(process.argv[2] ?? "1000");
if (!Number.isInteger(tunnels) || tunnels < 1 || tunnels > 5000) {
  console.error(
    `bench-operator: TUNNELS was given ${JSON.stringify(process.argv[2])}; accepted: a whole number from 1 to 5000`,
  );
  process.exit(2);
}
await using plane = await startControlPlane();
const kubeconfig = await prepare(plane);
const rows: [string, string][] = [["Tunnels of one pair", String(tunnels)]];

{
  const operator = await startOperator(kubeconfig);
  await using _process = operator.process;
  rows.push(["memory (RssAnon), nothing to do", mebibytes(operator.process.memory())]);
  const began = performance.now();
  await createTunnels(plane, tunnels);
  rows.push(["time to create the Tunnels themselves", seconds(performance.now() - began)]);
  let peak = 0;
  await waitFor("all children", { deadline: 30 * minutes, interval: 250 }, async () => {
    peak = Math.max(peak, operator.process.memory());
    return areAllThere(await operator.metrics());
  });
  rows.push(["time until every child exists", seconds(performance.now() - began)]);
  const metrics = await atRest(operator);
  rows.push(["time until the operator is at rest", seconds(performance.now() - began - restWindow)]);
  rows.push(...requestRows(metrics));
  rows.push(["memory (RssAnon), at rest", mebibytes(operator.process.memory())]);
  rows.push(["memory (RssAnon), highest seen", mebibytes(Math.max(peak, operator.process.memory()))]);
  operator.process.signal("SIGTERM");
  await operator.process.exited(20_000);
}
{
  const began = performance.now();
  const operator = await startOperator(kubeconfig);
  await using _process = operator.process;
  await waitFor(
    "first pass",
    { deadline: 10 * minutes, interval: 100 },
    async () => sum(await operator.metrics(), /_reconciles_total/) >= 3 * tunnels,
  );
  const metrics = await atRest(operator);
  rows.push(["restart: time until at rest", seconds(performance.now() - began - restWindow)]);
  rows.push(["restart: writes besides the Lease", String(writes(metrics))]);
  rows.push(["restart: memory (RssAnon), at rest", mebibytes(operator.process.memory())]);
}
const width = Math.max(...rows.map(([name]) => name.length));
console.log(rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join("\n"));

/** Our kinds, namespaces, and a ServiceAccount that may do what the chart's may. */
async function prepare(cluster: ControlPlane): Promise<string> {
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

async function startOperator(file: string): Promise<Running> {
  const started = startProcess([`${root}dist/netaminity`, "operator", "--health-listen", "127.0.0.1:0"], {
    NETAMINITY_KUBECONFIG: file,
    NETAMINITY_LOG_FORMAT: "json",
  });
  const { fields } = await started.log.first("listening", {}, minutes);
  const get = async (path: string) => (await fetch(`http://${fields.health}${path}`)).text();
  await waitFor("ready", { deadline: minutes }, async () => (await get("/readyz")) === "ready\n");
  return { process: started, metrics: async () => parseMetrics(await get("/metrics")) };
}

async function createTunnels(cluster: ControlPlane, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, i) => i).values();
  const worker = async () => {
    for (const i of numbers) {
      await cluster.api.request(`/apis/${groupVersion}/namespaces/bench-${i % namespaces}/tunnels`, {
        body: {
          apiVersion: groupVersion,
          kind: "Tunnel",
          metadata: { name: `tunnel-${i}` },
          spec: { service: { name: `tunnel-${i}` }, target: { endpoint: "backend.example.net:80" } },
        },
      });
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

function parseMetrics(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
}

function sum(metrics: Map<string, number>, pattern: RegExp): number {
  return [...metrics].reduce((total, [name, value]) => (pattern.test(name) ? total + value : total), 0);
}

/** Per Tunnel: a Secret, a Proxy and a Target, a Deployment for each, the consumer and the rendezvous Service. */
function areAllThere(metrics: Map<string, number>): boolean {
  const perTunnel = { secrets: 1, proxies: 1, targets: 1, deployments: 2, services: 2 };
  return Object.entries(perTunnel).every(
    ([resource, count]) =>
      (metrics.get(`netaminity_operator_cached_objects{resource="${resource}"}`) ?? 0) >= count * tunnels,
  );
}

/** Waits until nothing was written and reconciled for a while, and gives the metrics of then. */
async function atRest({ metrics }: Running): Promise<Map<string, number>> {
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

function writes(metrics: Map<string, number>): number {
  return sum(metrics, /_api_requests_total\{verb="(create|update|patch|delete)",resource="(?!leases)/);
}

function requestRows(metrics: Map<string, number>): [string, string][] {
  const per = (verb: string) => {
    const total = sum(metrics, new RegExp(`_api_requests_total\\{verb="${verb}",resource="(?!leases)`));
    return (total / tunnels).toFixed(2);
  };
  return ["get", "create", "patch", "delete"].map((verb) => [`API requests per Tunnel: ${verb}`, per(verb)]);
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
