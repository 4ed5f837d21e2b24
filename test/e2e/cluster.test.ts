/** The harness itself: what every end-to-end test takes for granted. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { runProcesses } from "../support/cluster/daemon.ts";
import {
  type Cluster,
  startCluster,
  startControlPlane,
  toolboxImage,
  waitFor,
  writeToolbox,
} from "../support/cluster/index.ts";
import { bridgeName, namespacePrefix } from "../support/cluster/node-plan.ts";
import { findRun, type Run } from "../support/cluster/run-folder.ts";

const namespace = "demo";
const nodePort = 31080;
const longTest = 120_000;

/** Answers with the node it runs on. */
const server = `
  Bun.serve({ port: 8080, hostname: "0.0.0.0", fetch: () => new Response(process.env.NODE) });
  process.on("SIGTERM", () => process.exit(0));
  console.log("serving on " + process.env.NODE);`;

/** Fetches each URL and prints what came back, or the error's name. */
const client = `
  const answers = await Promise.all(JSON.parse(process.argv.at(-1)).map(async (url) => {
    try { return await (await fetch(url, { signal: AbortSignal.timeout(3000) })).text(); } catch (error) { return error.name; }
  }));
  console.log(JSON.stringify(answers));`;

function serverOn(node: string): object[] {
  const labels = { app: node };
  const nodeName = { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } };
  const container = { name: "main", image: toolboxImage, args: ["-e", server], env: [nodeName] };
  const readinessProbe = { httpGet: { port: 8080 }, periodSeconds: 1 };
  return [
    {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { name: node, namespace, labels } },
      spec: { nodeName: node, terminationGracePeriodSeconds: 2, containers: [{ ...container, readinessProbe }] },
    },
    {
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: node, namespace } },
      spec: {
        ...{ selector: labels, type: node === "cloud-1" ? "NodePort" : "ClusterIP" },
        ports: [{ port: 80, targetPort: 8080, ...(node === "cloud-1" && { nodePort }) }],
      },
    },
  ];
}

async function fetchFrom(cluster: Cluster, node: string, urls: readonly string[]): Promise<string[]> {
  const command = ["/bin/bun", "-e", client, JSON.stringify(urls)];
  return JSON.parse(await cluster.pods.exec({ namespace, pod: node }, command)) as string[];
}

async function podUrl(cluster: Cluster, node: string): Promise<string> {
  const pod = await cluster.pods.get({ namespace, pod: node });
  return `http://${pod.status?.podIP}:8080`;
}

async function startServers(cluster: Cluster): Promise<void> {
  const archive = join(cluster.run.folder, "toolbox.tar");
  await writeToolbox(archive);
  await cluster.loadImage(archive);
  await cluster.createNamespace(namespace);
  await cluster.apply(cluster.nodes.flatMap((node) => serverOn(node.name)));
  await podsReady(cluster);
}

async function podsReady(cluster: Cluster): Promise<void> {
  await cluster.kubectl(["wait", "pods", "--all", "-n", namespace, "--for=condition=Ready", "--timeout=60s"]);
}

/** What a run leaves behind: nothing, once it is stopped. */
async function remains(run: Run): Promise<object> {
  const list = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
  const mounts = (await readFile("/proc/self/mountinfo", "utf8")).split("\n");
  const cgroups = await Promise.all((await list("/sys/fs/cgroup")).map((name) => list(join("/sys/fs/cgroup", name))));
  return {
    processes: (await runProcesses(run)).map((each) => each.daemon),
    mounts: mounts.filter((line) => line.includes(run.folder)),
    namespaces: (await list("/run/netns")).filter((name) => name.startsWith(namespacePrefix(run))),
    links: (await list("/sys/class/net")).filter((name) => new RegExp(`^${bridgeName(run)}(-|$)`).test(name)),
    cgroups: cgroups.flat().filter((name) => name === `netaminity-${run.index}`),
    folder: existsSync(run.folder),
  };
}

const nothing = { processes: [], mounts: [], namespaces: [], links: [], cgroups: [], folder: false };

describe("a cluster with a cloud node and a private node", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ cloudNodes: 1, privateNodes: 1 });
    await startServers(cluster);
  }, longTest);

  afterAll(async () => {
    await cluster?.stop();
  }, longTest);

  test("its nodes are Ready and say by a label on which side they are", async () => {
    const column = "custom-columns=:metadata.name,:metadata.labels.netaminity\\.exeteres\\.net/environment";
    const nodes = await cluster.kubectl(["get", "nodes", "--no-headers", "-o", column]);
    expect(nodes.trim().split(/\s+/)).toEqual(["cloud-1", "cloud", "private-1", "private"]);
    for (const node of cluster.nodes) await cluster.untilNodeIs(node.name, "Ready", 1_000);
  });

  test("a private pod reaches cloud pods by address, by name and by NodePort, and its own node's Services", async () => {
    const [cloud] = cluster.nodes;
    const urls = [
      await podUrl(cluster, "cloud-1"),
      "http://cloud-1",
      "http://cloud-1.demo.svc",
      "http://cloud-1.demo.svc.cluster.local",
      `http://${cloud?.address}:${nodePort}`,
      "http://private-1.demo.svc",
    ];
    const answers = await fetchFrom(cluster, "private-1", urls);
    expect(answers).toEqual([...Array<string>(5).fill("cloud-1"), "private-1"]);
  });

  test("a cloud pod reaches no private pod, private Service or port of a private node, yet its own side", async () => {
    const node = cluster.nodes.find((each) => each.kind === "private");
    const urls = [
      await podUrl(cluster, "private-1"),
      "http://private-1.demo.svc",
      `http://${node?.address}:${nodePort}`,
      "http://cloud-1.demo.svc",
    ];
    const answers = await fetchFrom(cluster, "cloud-1", urls);
    expect(answers).toEqual(["TimeoutError", "TimeoutError", "TimeoutError", "cloud-1"]);
  });

  test("logs and exec work on both sides", async () => {
    for (const pod of ["cloud-1", "private-1"]) {
      expect(await cluster.pods.logs({ namespace, pod })).toBe(`serving on ${pod}\n`);
      expect(await cluster.pods.exec({ namespace, pod }, ["/bin/bun", "--version"])).toBe(`${Bun.version}\n`);
    }
    expect(await cluster.kubectl(["logs", "-n", namespace, "cloud-1"])).toBe("serving on cloud-1\n");
  });

  test(
    "a black hole swallows what it names, in one direction too, until it is healed",
    async () => {
      const urls = ["http://cloud-1.demo.svc", "http://private-1.demo.svc"];
      for (const direction of ["in", "out", "both"] as const) {
        await using fault = await cluster.blackHole("private-1", { direction, peer: "cloud-1" });
        expect(await fetchFrom(cluster, "private-1", urls)).toEqual(["TimeoutError", "private-1"]);
        await fault.heal();
        expect(await fetchFrom(cluster, "private-1", urls)).toEqual(["cloud-1", "private-1"]);
      }
    },
    longTest,
  );

  test(
    "a killed container is restarted by its kubelet",
    async () => {
      const name = { namespace, pod: "cloud-1" };
      const before = await cluster.pods.processId(name);
      await cluster.pods.kill(name);
      const restarts = await waitFor("restart", { deadline: 60_000 }, async () => {
        const [status] = (await cluster.pods.get(name)).status?.containerStatuses ?? [];
        return status?.ready === true && status.restartCount > 0 && status.restartCount;
      });
      expect(restarts).toBe(1);
      expect(await cluster.pods.processId(name)).not.toBe(before);
      expect(await cluster.pods.logs(name)).toBe("serving on cloud-1\nserving on cloud-1\n");
    },
    longTest,
  );

  test(
    "the API server can be stopped and started, and keeps its data",
    async () => {
      await cluster.stopApiServer();
      await expect(cluster.api.request("/readyz")).rejects.toThrow();
      expect(await fetchFromOutside(cluster)).toBe("cloud-1");
      await cluster.startApiServer();
      expect((await cluster.pods.list(namespace)).map((pod) => pod.metadata?.name)).toEqual(["cloud-1", "private-1"]);
    },
    longTest,
  );

  test(
    "a node that loses power is NotReady and silent, and runs its pods again after it booted",
    async () => {
      await cluster.powerOff("cloud-1");
      await cluster.untilNodeIs("cloud-1", "NotReady");
      expect(await fetchFrom(cluster, "private-1", ["http://cloud-1.demo.svc"])).not.toEqual(["cloud-1"]);
      expect((await runProcesses(cluster.run)).filter((each) => each.daemon.endsWith("@cloud-1"))).toEqual([]);
      await cluster.powerOn("cloud-1");
      await podsReady(cluster);
      const answer = await waitFor("Service of the booted node", { deadline: 20_000 }, async () => {
        const [text] = await fetchFrom(cluster, "private-1", ["http://cloud-1.demo.svc"]);
        return text === "cloud-1" && text;
      });
      expect(answer).toBe("cloud-1");
    },
    longTest,
  );

  test(
    "an outbound-only cluster reaches its NodePorts and load balancers, and cannot be reached",
    async () => {
      await using other = await startCluster({ cloudNodes: 1, privateNodes: 0 });
      await startServers(other);
      await other.joinTo(cluster);
      const balancer = cluster.loadBalancerAddress(1);
      const ingress = { status: { loadBalancer: { ingress: [{ ip: balancer }] } } };
      const service = `/api/v1/namespaces/${namespace}/services/cloud-1`;
      await cluster.api.request(service, { method: "PATCH", body: { spec: { type: "LoadBalancer" } } });
      await cluster.api.request(`${service}/status`, { method: "PATCH", body: ingress });
      const address = cluster.nodes[0]?.address;
      const inward = await waitFor("load balancer", { deadline: 20_000 }, async () => {
        const answers = await fetchFrom(other, "cloud-1", [`http://${balancer}`, `http://${address}:${nodePort}`]);
        return answers[0] === "cloud-1" && answers;
      });
      expect(inward).toEqual(["cloud-1", "cloud-1"]);
      const back = [await podUrl(other, "cloud-1"), `http://${other.nodes[0]?.address}:${nodePort}`];
      expect(await fetchFrom(cluster, "cloud-1", back)).toEqual(["TimeoutError", "TimeoutError"]);
      await other.stop();
      expect(await remains(other.run)).toEqual(nothing);
    },
    longTest,
  );

  test(
    "when it is stopped nothing of it remains",
    async () => {
      await cluster.stop();
      expect(await remains(cluster.run)).toEqual(nothing);
    },
    longTest,
  );
});

/** With the API server down a pod cannot be looked up: asks the cloud node's NodePort from outside. */
async function fetchFromOutside(cluster: Cluster): Promise<string> {
  return (await fetch(`http://${cluster.nodes[0]?.address}:${nodePort}`)).text();
}

test(
  "a run whose process was killed is swept by the next one that starts",
  async () => {
    const library = join(import.meta.dir, "../support/cluster/index.ts");
    const name = `crash-${process.pid}`;
    const code = `
    const { startControlPlane } = await import(${JSON.stringify(library)});
    await startControlPlane({ name: ${JSON.stringify(name)} });
    console.log("up");
    await new Promise(() => setInterval(() => {}, 1000));`;
    const child = Bun.spawn([process.execPath, "-e", code], { stdout: "pipe", stderr: "inherit" });
    const reader = child.stdout.getReader();
    await reader.read();
    const run = await findRun(name);
    if (run === undefined) throw new Error("the other process recorded no run");
    const orphans = await runProcesses(run);
    expect(orphans.map((each) => each.daemon).sort()).toEqual(["etcd", "kube-apiserver"]);
    child.kill("SIGKILL");
    await child.exited;
    await using next = await startControlPlane();
    expect(next.name).not.toBe(name);
    expect(await findRun(name)).toBeUndefined();
    expect(orphans.filter((each) => existsSync(`/proc/${each.pid}`))).toEqual([]);
  },
  longTest,
);
