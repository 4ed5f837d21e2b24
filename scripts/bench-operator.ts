#!/usr/bin/env bun
/**
 * What a thousand Tunnels cost the operator: `bun scripts/bench-operator.ts [TUNNELS]`. Runs the compiled executable against a real API server
 * under the chart's rules, without kubelets and controllers, so that only the operator and the API server work.
 */
import { startControlPlane, waitFor } from "../test/support/cluster/index.ts";
import {
  atRest,
  createTunnels,
  mebibytes,
  minutes,
  prepare,
  restWindow,
  seconds,
  startOperator,
  sum,
  table,
  tunnelsWanted,
  writes,
} from "./operator-site.ts";

const tunnels = tunnelsWanted("bench-operator");
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
console.log(table(rows));

/** Per Tunnel: a Secret, a Proxy and a Target, a Deployment for each, the consumer and the rendezvous Service. */
function areAllThere(metrics: Map<string, number>): boolean {
  const perTunnel = { secrets: 1, proxies: 1, targets: 1, deployments: 2, services: 2 };
  return Object.entries(perTunnel).every(
    ([resource, count]) =>
      (metrics.get(`netaminity_operator_cached_objects{resource="${resource}"}`) ?? 0) >= count * tunnels,
  );
}

function requestRows(metrics: Map<string, number>): [string, string][] {
  const per = (verb: string) => {
    const total = sum(metrics, new RegExp(`_api_requests_total\\{verb="${verb}",resource="(?!leases)`));
    return (total / tunnels).toFixed(2);
  };
  return ["get", "create", "patch", "delete"].map((verb) => [`API requests per Tunnel: ${verb}`, per(verb)]);
}
