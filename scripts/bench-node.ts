#!/usr/bin/env bun
/**
 * What a thousand whole-IP Services cost the role node: `bun scripts/bench-node.ts [SERVICES]`. Runs the compiled executable under the chart's rules against a real
 * API server, with the tables in a network namespace of its own. Needs root.
 */
import { families } from "../src/node/address.ts";
import { wholeIpAnnotation, wholeIpTable } from "../src/node/names.ts";
import { type ControlPlane, startControlPlane, waitFor } from "../test/support/cluster/index.ts";
import { giveAddress, makeNodeExecutable, makeNodeObject, sliceOf } from "../test/support/node-executable.ts";

const minutes = 60_000;
const node = "bench";
/** Changes whose time is taken, one after the other. */
const changes = 50;

const services = Number(process.argv[2] ?? "1000");
if (!Number.isInteger(services) || services < 1 || services > 10_000) {
  console.error(
    `bench-node: SERVICES was given ${JSON.stringify(process.argv[2])}; accepted: a whole number from 1 to 10000`,
  );
  process.exit(2);
}
await using plane = await startControlPlane();
await using role = await makeNodeExecutable(plane, node);
await makeNodeObject(plane, node, "10.245.0.0/16", "192.0.2.77");
await createServices(plane);

const began = performance.now();
await using running = await role.start();
await waitFor(
  "all addresses in the kernel",
  { deadline: 5 * minutes, interval: 50 },
  async () => (await leads()).size === services,
);
const first = performance.now() - began;
const before = await changeHistogram();
for (let change = 0; change < changes; change += 1) {
  const index = (change * 37) % services;
  const { count } = await changeHistogram();
  await plane.apply([sliceOf(node, `s${index}`, podOf(change), node)]);
  // Seldom asked: whoever reads the kernel's tables meanwhile keeps others from changing them.
  await waitFor(
    "the change",
    { deadline: minutes, interval: 100 },
    async () => (await changeHistogram()).count > count,
  );
}
const last = changes - 1;
if ((await leads()).get(addressOf((last * 37) % services)) !== podOf(last))
  throw new Error("the kernel does not have the last change");
const after = await changeHistogram();
const rows: [string, string][] = [
  ["whole-IP Services", String(services)],
  ["start until the kernel has all of them", `${(first / 1000).toFixed(1)} s`],
  [
    "one change, from its watch event until the kernel has it, mean",
    `${(((after.sum - before.sum) / (after.count - before.count)) * 1000).toFixed(0)} ms`,
  ],
  ["changes of which the kernel had within 100 ms", `${after.quick - before.quick} of ${after.count - before.count}`],
  ["memory (RssAnon)", `${(running.memory() / 2 ** 20).toFixed(0)} MiB`],
];
const width = Math.max(...rows.map(([name]) => name.length));
console.log(rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join("\n"));

function podOf(change: number): string {
  return `10.245.200.${change + 1}`;
}

function addressOf(index: number): string {
  return `198.18.${index >> 8}.${index & 255}`;
}

async function leads(): Promise<ReadonlyMap<string, string>> {
  const table = await role.nft.read(families[0] ?? "ip", wholeIpTable);
  return table?.sets.find(({ name }) => name === "local_dnat")?.elements ?? new Map();
}

async function createServices(cluster: ControlPlane): Promise<void> {
  const numbers = Array.from({ length: services }, (_, index) => index).values();
  const worker = async () => {
    for (const index of numbers) {
      const name = `s${index}`;
      await cluster.api.request(`/api/v1/namespaces/${node}/services`, {
        body: {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name, annotations: { [wholeIpAnnotation]: "true" } },
          spec: { type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports: [{ port: 65535 }] },
        },
      });
      await giveAddress(cluster, node, name, addressOf(index));
      const pod = `10.245.${index >> 8}.${index & 255}`;
      await cluster.api.request(`/apis/discovery.k8s.io/v1/namespaces/${node}/endpointslices`, {
        body: sliceOf(node, name, pod, node),
      });
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

async function changeHistogram(): Promise<{ count: number; sum: number; quick: number }> {
  const text = await running.metrics();
  const value = (name: string) =>
    Number(new RegExp(`^netaminity_node_change_seconds_${name} (\\S+)$`, "m").exec(text)?.[1] ?? 0);
  return { count: value("count"), sum: value("sum"), quick: value('bucket\\{le="0.1"\\}') };
}
