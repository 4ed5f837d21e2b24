#!/usr/bin/env bun
/**
 * What asking the pods of a thousand Proxies costs the operator, and how soon it leaves a pod that does not answer: `bun scripts/bench-probes.ts [TUNNELS]`.
 * The compiled executable against a real API server; each Proxy has two pods, which nobody runs: this process answers on their addresses. Needs root.
 */
import { healthPortAnnotation } from "../src/desired/deployment.ts";
import { labels } from "../src/names.ts";
import { run } from "../test/support/cluster/command.ts";
import { type ControlPlane, startControlPlane, waitFor } from "../test/support/cluster/index.ts";
import {
  atRest,
  createTunnels,
  each,
  mebibytes,
  minutes,
  prepare,
  type Running,
  seconds,
  startOperator,
  sum,
  table,
  tunnelsWanted,
} from "./operator-site.ts";

/** Seconds of each measurement at rest. */
const window = 30;
/** Proxies whose pods do not answer any more while another one is left. */
const lostProxies = 200;
const departures = 10;
const nodes = ["bench-a", "bench-b"] as const;
/** From the range for benchmarks (RFC 2544), so that nobody else has them. */
const network = "198.18.0.0/16";
const clockTicks = 100;

interface Child {
  metadata: { name: string; namespace: string; uid: string; labels: Record<string, string> };
}
interface BenchProxy {
  name: string;
  namespace: string;
  /** Addresses of its two pods; the first one is active. */
  addresses: readonly [string, string];
}

const tunnels = tunnelsWanted("bench-probes");
await run(["ip", "route", "replace", "local", network, "dev", "lo"]);
const silent = new Set<string>();
const pods = answerAsPods();
try {
  console.log(table(await measure()));
} finally {
  pods.stop(true);
  await run(["ip", "route", "del", "local", network, "dev", "lo"]);
}

async function measure(): Promise<[string, string][]> {
  await using plane = await startControlPlane();
  const kubeconfig = await prepare(plane);
  const leader = await startOperator(kubeconfig);
  await using _leader = leader.process;
  await createTunnels(plane, tunnels, { proxy: { replicas: 2 } });
  await waitFor("all Deployments", { deadline: 30 * minutes, interval: 250 }, async () => {
    return sum(await leader.metrics(), /_cached_objects\{resource="deployments"\}/) >= 2 * tunnels;
  });
  await atRest(leader);
  const without = await costs(leader);
  const proxies = await makePods(plane);
  await atRest(leader);
  const waiting = await startOperator(kubeconfig);
  await using _waiting = waiting.process;
  const [leading, idle] = await Promise.all([costs(leader), costs(waiting)]);
  const rows: [string, string][] = [
    ["Proxies of two pods", String(tunnels)],
    ["leader without pods: processor", percent(without.processor)],
    ["leader: questions per second and Proxy", (leading.probes / tunnels).toFixed(2)],
    ["leader: of these without an answer", String(leading.unanswered)],
    ["leader: processor", percent(leading.processor)],
    ["leader: memory (RssAnon)", mebibytes(leader.process.memory())],
    ["replica that waits: questions per second", idle.probes.toFixed(2)],
    ["replica that waits: processor", percent(idle.processor)],
  ];
  rows.push(["leaves a silent pod after", await departureTimes(plane, proxies)]);
  const lost = Math.min(lostProxies, tunnels - 2 * departures);
  for (const { addresses } of proxies.splice(0, lost)) for (const address of addresses) silent.add(address);
  const before = await costs(leader);
  rows.push([`with ${2 * lost} silent pods: questions per second and Proxy`, (before.probes / tunnels).toFixed(2)]);
  rows.push([`with ${2 * lost} silent pods: processor`, percent(before.processor)]);
  rows.push([`with ${2 * lost} silent pods: leaves another one after`, await departureTimes(plane, proxies)]);
  return rows;
}

/** All addresses of the network are this process: silent ones accept and say nothing. */
function answerAsPods(): Bun.TCPSocketListener {
  const answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nalive\n";
  return Bun.listen({
    hostname: "0.0.0.0",
    port: 0,
    socket: {
      data(socket) {
        if (!silent.has(socket.localAddress)) socket.write(answer);
      },
    },
  });
}

/** What the controllers, the scheduler and kubelets would make of the Deployments of all proxies. */
async function makePods(plane: ControlPlane): Promise<BenchProxy[]> {
  const condition = { type: "Ready", status: "True" };
  for (const name of nodes) {
    await plane.api.request("/api/v1/nodes", { body: { metadata: { name } } });
    await plane.api.request(`/api/v1/nodes/${name}/status`, {
      method: "PATCH",
      body: { status: { conditions: [condition] } },
    });
  }
  const selector = encodeURIComponent(labels.proxy);
  const path = `/apis/apps/v1/deployments?labelSelector=${selector}`;
  const { items } = await plane.api.request<{ items: Child[] }>(path);
  const proxies: BenchProxy[] = [];
  await each([...items.entries()], async ([index, deployment]) => {
    const { namespace, labels: own } = deployment.metadata;
    const replicaSet = await makeReplicaSet(plane, deployment);
    const addresses = [0, 1].map((pod) => `198.18.${index >> 7}.${((index & 127) << 1) + pod}`) as [string, string];
    for (const [number, address] of addresses.entries()) await makePod(plane, replicaSet, number, address);
    proxies.push({ name: own[labels.proxy] ?? "", namespace, addresses });
  });
  return proxies;
}

function ownerOf(kind: string, { metadata: { name, uid } }: Child): object[] {
  return [{ apiVersion: "apps/v1", kind, name, uid, controller: true }];
}

function podTemplate(own: Record<string, string>) {
  return {
    metadata: { labels: own, annotations: { [healthPortAnnotation]: String(pods.port) } },
    spec: { containers: [{ name: "agent", image: "none" }] },
  };
}

function makeReplicaSet(plane: ControlPlane, deployment: Child): Promise<Child> {
  const { name, namespace } = deployment.metadata;
  const own = { ...deployment.metadata.labels, "pod-template-hash": "1" };
  return plane.api.request<Child>(`/apis/apps/v1/namespaces/${namespace}/replicasets`, {
    body: {
      metadata: {
        ...{ name: `${name}-1`, labels: own, ownerReferences: ownerOf("Deployment", deployment) },
        annotations: { "deployment.kubernetes.io/revision": "1" },
      },
      spec: { replicas: 2, selector: { matchLabels: own }, template: podTemplate(own) },
    },
  });
}

async function makePod(plane: ControlPlane, replicaSet: Child, number: number, ip: string): Promise<void> {
  const { namespace, labels: own } = replicaSet.metadata;
  const name = `${replicaSet.metadata.name}-${number}`;
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const { metadata, spec } = podTemplate(own);
  await plane.api.request(path, {
    body: {
      metadata: { ...metadata, name, ownerReferences: ownerOf("ReplicaSet", replicaSet) },
      spec: { ...spec, nodeName: nodes[number] },
    },
  });
  const isReady = number === 0 ? "True" : "False";
  const container = { name: "agent", image: "none", imageID: "none", containerID: `containerd://${name}` };
  const state = { running: { startedAt: "2026-01-01T00:00:00Z" } };
  const status = {
    ...{ phase: "Running", podIP: ip, podIPs: [{ ip }], conditions: [{ type: "Ready", status: isReady }] },
    containerStatuses: [{ ...container, state, ready: number === 0, restartCount: 0 }],
  };
  await plane.api.request(`${path}/${name}/status`, { method: "PATCH", body: { status } });
}

/** Per second, from two looks. */
async function costs({ process, metrics }: Running) {
  const look = async () => {
    const all = await metrics();
    const [user = 0, system = 0] =
      (await Bun.file(`/proc/${process.pid}/stat`).text()).split(") ")[1]?.split(" ").slice(11, 13).map(Number) ?? [];
    return {
      probes: sum(all, /_probes_total/),
      unanswered: sum(all, /_probes_total\{result="silent"\}/),
      ticks: user + system,
    };
  };
  const [before, began] = [await look(), performance.now()];
  await Bun.sleep(window * 1000);
  const after = await look();
  const passed = (performance.now() - began) / 1000;
  return {
    probes: (after.probes - before.probes) / passed,
    unanswered: after.unanswered - before.unanswered,
    processor: (after.ticks - before.ticks) / clockTicks / passed,
  };
}

/** Silences the active pods of some Proxies, one after the other, and waits until their slices lead to the standbys. */
async function departureTimes(plane: ControlPlane, proxies: BenchProxy[]): Promise<string> {
  const times: number[] = [];
  for (const proxy of proxies.splice(0, departures)) {
    const selector = encodeURIComponent(`${labels.proxy}=${proxy.name}`);
    const path = `/apis/discovery.k8s.io/v1/namespaces/${proxy.namespace}/endpointslices?labelSelector=${selector}`;
    const address = async () => {
      const { items } = await plane.api.request<{ items: { endpoints: { addresses: string[] }[] }[] }>(path);
      return items[0]?.endpoints[0]?.addresses[0];
    };
    const active = (await address()) ?? "";
    // Not in step with the questions.
    await Bun.sleep(Math.random() * 1500);
    silent.add(active);
    const began = performance.now();
    const other = proxy.addresses.find((each) => each !== active);
    await waitFor(
      "the slice leads elsewhere",
      { deadline: minutes, interval: 10 },
      async () => (await address()) === other,
    );
    times.push(performance.now() - began);
  }
  const sorted = times.toSorted((a, b) => a - b);
  return `${seconds(sorted[0] ?? 0)} to ${seconds(sorted.at(-1) ?? 0)}, median ${seconds(sorted[sorted.length >> 1] ?? 0)} (${times.length} times)`;
}

function percent(fraction: number): string {
  return `${(fraction * 100).toFixed(1)} % of one`;
}
