/** The role node on real kubelets beside kube-proxy in nftables mode: a pod with the whole address of its Service, and who reaches it. This machine is what is outside. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createSocket } from "node:dgram";
import { join } from "node:path";
import { wholeIpAnnotation } from "../../src/node/names.ts";
import { addressesOf } from "../support/cluster/addresses.ts";
import { run } from "../support/cluster/command.ts";
import { waitFor } from "../support/cluster/index.ts";
import { type Consumer, consumerAt } from "../support/e2e/consumer.ts";
import { productImage, root } from "../support/e2e/images.ts";
import { harm, measure, unharmed } from "../support/e2e/measure.ts";
import { backendObjects } from "../support/e2e/peers.ts";
import type { Site } from "../support/e2e/site.ts";

const system = "whole-ip-system";
const namespace = "whole-ip";
const hostname = "kubernetes.io/hostname";
const release = "whole";
/** Of the peer as backend, and of the peer as consumer, which does what it is told over HTTP. */
const [backendPort, controlPort] = [8080, 8090];
const enough = { deadline: 60_000 };

/** The pod of the tunnels' tests, its backend and its consumer in one. */
function machineOn(node: string): object[] {
  const [deployment] = backendObjects(namespace, { [hostname]: node }) as {
    metadata: object;
    spec: { template: { spec: { containers: object[] } } };
  }[];
  const [backend] = deployment?.spec.template.spec.containers ?? [];
  const consumer = {
    ...backend,
    name: "consumer",
    args: ["consumer"],
    readinessProbe: { tcpSocket: { port: controlPort }, periodSeconds: 1 },
  };
  deployment?.spec.template.spec.containers.push(consumer);
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "machine", namespace, annotations: { [wholeIpAnnotation]: "true" } },
    spec: {
      type: "LoadBalancer",
      allocateLoadBalancerNodePorts: false,
      selector: { app: "private-api" },
      ports: [
        { name: "any", port: 65535 },
        { name: "backend", port: backendPort },
      ],
    },
  };
  return [{ ...deployment, spec: { ...deployment?.spec, strategy: { type: "Recreate" } } }, service];
}

export function wholeIp(siteNow: () => Site): void {
  describe("whole IP", () => {
    let site: Site;
    let address = "";
    let clusterIP = "";
    let outside: Consumer;

    beforeAll(async () => {
      site = siteNow();
      const { cluster } = site;
      address = cluster.loadBalancerAddress(40);
      await cluster.createNamespace(system, { "pod-security.kubernetes.io/enforce": "privileged" });
      await cluster.createNamespace(namespace);
      const values = join(cluster.run.folder, "whole-ip.json");
      await Bun.write(
        values,
        JSON.stringify({
          operator: { replicas: 0 },
          rbac: { aggregateRoles: false },
          crds: { install: false },
          node: {
            enabled: true,
            image: { ...productImage, pullPolicy: "Never" },
            // The network plugin gives pods their addresses here, and the Nodes name no ranges.
            podCidrs: cluster.nodes.map((node) => node.podCidr),
          },
        }),
      );
      const flags = ["--namespace", system, "--values", values, "--wait", "--timeout", "90s"];
      await cluster.helm(["upgrade", "--install", release, join(root, "chart"), ...flags], { timeout: 100_000 });
      await cluster.apply(machineOn("cloud-1"));
      const path = `/api/v1/namespaces/${namespace}/services/machine`;
      const body = { status: { loadBalancer: { ingress: [{ ip: address }] } } };
      await cluster.api.request(`${path}/status`, { method: "PATCH", body });
      clusterIP = (await cluster.api.request<{ spec: { clusterIP: string } }>(path)).spec.clusterIP;
      outside = consumerAt("outside", address);
      await waitFor("the pod has the address", enough, () => answers(address));
    }, 180_000);

    // Nothing that the other tests count on may stay: the address would lead nowhere.
    afterAll(async () => {
      const { cluster } = site;
      await cluster.helm(["uninstall", release, "--namespace", system, "--timeout", "100s"], { timeout: 110_000 });
      const left = await Promise.all(cluster.nodes.map(({ name }) => cluster.runIn(name, ["nft", "list", "tables"])));
      expect(left.filter((tables) => /netaminity/.test(tables))).toEqual([]);
    }, 120_000);

    const answers = async (host: string) =>
      await fetch(`http://${host}:${controlPort}/healthz`, { signal: AbortSignal.timeout(2000) }).then(
        ({ ok }) => ok,
        () => false,
      );

    test("is reached on any port by TCP, UDP and ping", async () => {
      expect(await answers(address)).toBe(true);
      await run(["ping", "-n", "-c", "1", "-W", "2", address]);
      // Nobody listens there, and it is the pod that says so.
      expect(await closedPort(address)).toBe("ECONNREFUSED");
    });

    test("leads out: the pod is seen with it", async () => {
      const { bridge } = addressesOf(site.cluster.run.index, true);
      const seen: string[] = [];
      const server = Bun.serve({
        hostname: bridge,
        port: 0,
        fetch: (request, self) => {
          seen.push(self.requestIP(request)?.address ?? "");
          return new Response("seen");
        },
      });
      try {
        expect(await outside.request({ url: `http://${bridge}:${server.port}/` })).toMatchObject({ status: 200 });
      } finally {
        await server.stop(true);
      }
      expect(seen).toEqual([address]);
    });

    test("changes nothing inside: probes, the cluster IP, its node and the others", async () => {
      const { cluster } = site;
      const [pod] = await cluster.pods.list(namespace, "app=private-api");
      expect(pod?.status?.containerStatuses?.map(({ ready }) => ready)).toEqual([true, true]);
      for (const node of ["cloud-1", "cloud-2"]) {
        const consumer = await site.consumerOn(node);
        // The node's kube-proxy follows the API server, which may have been away not long ago.
        await consumer.untilServed(`${clusterIP}:${backendPort}`);
        for (const host of [address, `${clusterIP}`, `${pod?.status?.podIP}`]) {
          expect([node, host, (await consumer.connect(`${host}:${backendPort}`)).result]).toEqual([node, host, "ok"]);
        }
        await cluster.runIn(node, ["bash", "-c", `exec 3<>/dev/tcp/${address}/${backendPort}`]);
      }
    });

    test("a rollout of the role is noticed by nobody", async () => {
      const { cluster } = site;
      const consumer = await site.consumerOn("cloud-2");
      const target = `daemonset/${release}-netaminity-node`;
      const scenario = {
        name: "role node replaced on every node",
        goal: 0,
        consumer,
        address: `${address}:${backendPort}`,
      };
      const impact = await measure(site, scenario, async () => {
        await cluster.kubectl(["rollout", "restart", "--namespace", system, target]);
        await cluster.kubectl(["rollout", "status", "--namespace", system, target, "--timeout=60s"], {
          timeout: 65_000,
        });
      });
      expect(harm(impact)).toEqual(unharmed);
    }, 120_000);

    test("what is deleted by hand on a node is there again", async () => {
      const { cluster } = site;
      await cluster.runIn("cloud-1", ["nft", "delete", "table", "ip", "netaminity"]);
      await waitFor("the table", { deadline: 5000 }, async () =>
        (await cluster.runIn("cloud-1", ["nft", "list", "tables"])).includes("ip netaminity"),
      );
      expect(await answers(address)).toBe(true);
    });

    test("goes with the pod to another node, under load", async () => {
      const { cluster } = site;
      const consumer = await site.consumerOn("cloud-2");
      const scenario = {
        name: "pod with a whole address moved",
        goal: 20_000,
        consumer,
        address: `${address}:${backendPort}`,
        life: 2000,
      };
      await measure(site, scenario, async () => {
        await cluster.apply(machineOn("cloud-2"));
        await waitFor("the pod on the other node", enough, async () => {
          const pods = await cluster.pods.list(namespace, "app=private-api");
          return pods.length === 1 && pods[0]?.spec?.nodeName === "cloud-2" && (await answers(address));
        });
      });
      await run(["ping", "-n", "-c", "1", "-W", "2", address]);
    }, 120_000);
  });
}

/** What a datagram to a port on which nobody listens brings back. */
async function closedPort(host: string): Promise<string> {
  const socket = createSocket("udp4");
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.on("error", (error: NodeJS.ErrnoException) => resolve(String(error.code)));
  try {
    await new Promise<void>((done) => socket.connect(9, host, done));
    for (let tries = 0; tries < 20; tries += 1) {
      socket.send("x");
      const answer = await Promise.race([promise, Bun.sleep(100)]);
      if (answer !== undefined) return answer;
    }
    return "nothing";
  } finally {
    socket.close();
  }
}
