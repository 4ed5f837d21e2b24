import { describe, expect, test } from "bun:test";
import { wholeIpAnnotation, wholeIpTable } from "../../src/node/names.ts";
import { run } from "../support/cluster/command.ts";
import { waitFor } from "../support/cluster/index.ts";
import {
  giveAddress,
  makeNodeExecutable,
  makeNodeObject,
  type NodeExecutable,
  sliceOf,
} from "../support/node-executable.ts";
import { sharedPlane } from "./plane.ts";

const node = "whole-ip-node";
const [address, other, nodeAddress] = ["203.0.113.5", "203.0.113.6", "192.0.2.77"];

const service = (name: string, more: { labels?: object; spec?: object } = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: node, annotations: { [wholeIpAnnotation]: "true" }, labels: more.labels ?? {} },
  spec: {
    type: "LoadBalancer",
    allocateLoadBalancerNodePorts: false,
    externalTrafficPolicy: "Local",
    ports: [{ port: 65535 }],
    ...more.spec,
  },
});

/** What leads where, by the kernel. */
async function led({ nft }: NodeExecutable): Promise<Record<string, string>> {
  const table = await nft.read("ip", wholeIpTable);
  return Object.fromEntries(table?.sets.find(({ name }) => name === "local_dnat")?.elements ?? []);
}

describe("the executable as node", () => {
  test("follows the cluster with the chart's rights, tells what it refuses, and leaves the table until it is told to clean up", async () => {
    const plane = await sharedPlane();
    await using role = await makeNodeExecutable(plane, node);
    await makeNodeObject(plane, node, "10.245.7.0/24", nodeAddress);
    const until = (what: string, holds: () => Promise<boolean>) =>
      waitFor(what, { deadline: 20_000, interval: 50 }, holds);
    const leads = async (to: Record<string, string>) => JSON.stringify(await led(role)) === JSON.stringify(to);
    {
      await using started = await role.start();
      await plane.apply([service("web"), sliceOf(node, "web", "10.245.7.10", node)]);
      await giveAddress(plane, node, "web", address);
      await until("the pod has the address", () => leads({ [address]: "10.245.7.10" }));
      await plane.apply([sliceOf(node, "web", "10.245.7.11", node)]);
      await until("the other pod has the address", () => leads({ [address]: "10.245.7.11" }));
      expect(await started.metrics()).toContain('netaminity_node_addresses{pod="local"} 1\n');

      await plane.apply([service("greedy"), sliceOf(node, "greedy", "10.245.7.12", node)]);
      await giveAddress(plane, node, "greedy", nodeAddress);
      const events = `/apis/events.k8s.io/v1/namespaces/${node}/events`;
      await until("the Event", async () => {
        const { items } = await plane.api.request<{
          items: { reason: string; note: string; regarding: { name: string } }[];
        }>(events);
        return items.some(
          ({ reason, note, regarding }) =>
            reason === "WholeIPAddressRefused" && regarding.name === "greedy" && note.includes("a node's"),
        );
      });
      expect(await leads({ [address]: "10.245.7.11" })).toBe(true);
      expect(await started.metrics()).toContain('netaminity_node_findings{reason="WholeIPAddressRefused"} 1\n');
      started.signal("SIGTERM");
      expect(await started.exited()).toBe(0);
    }
    expect(await leads({ [address]: "10.245.7.11" })).toBe(true);
    const printed = await role.once("--dry-run");
    expect(JSON.parse(printed).nftables.length).toBeGreaterThan(20);
    // As nft reads it: the same change again is none.
    await run(["unshare", "-n", "nft", "-c", "-j", "-f", "-"], { input: printed });
    await role.once("--cleanup");
    expect(await role.nft.read("ip", wholeIpTable)).toBeUndefined();
    await role.once("--cleanup");
  }, 90_000);

  test("answers the health check of a Service that kube-proxy leaves to it", async () => {
    const plane = await sharedPlane();
    const name = "whole-ip-health";
    await using role = await makeNodeExecutable(plane, name);
    await makeNodeObject(plane, name, "10.245.8.0/24", "192.0.2.78");
    await using _started = await role.start();
    const labels = { "service.kubernetes.io/service-proxy-name": "netaminity" };
    const labelled = service("labelled", { labels });
    await plane.apply([{ ...labelled, metadata: { ...labelled.metadata, namespace: name } }]);
    const path = `/api/v1/namespaces/${name}/services/labelled`;
    const { spec } = await plane.api.request<{ spec: { healthCheckNodePort: number } }>(path);
    const ask = () => fetch(`http://127.0.0.1:${spec.healthCheckNodePort}/`).catch(() => undefined);
    await waitFor("an answer", { deadline: 20_000, interval: 50 }, async () => (await ask())?.status === 503);
    await giveAddress(plane, name, "labelled", other);
    await plane.apply([sliceOf(name, "labelled", "10.245.8.10", name)]);
    await waitFor("a pod here", { deadline: 20_000, interval: 50 }, async () => (await ask())?.status === 200);
    expect(await (await ask())?.json()).toEqual({
      service: { namespace: name, name: "labelled" },
      localEndpoints: 1,
      serviceProxyHealthy: true,
    });
  }, 90_000);
});
