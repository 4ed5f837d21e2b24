/** Where pods run, and what the status says when they cannot. */
import { beforeAll, describe, expect, test } from "bun:test";
import { groupVersion } from "../../src/names.ts";
import { environmentLabel } from "../support/cluster/node-config.ts";
import { type Kinds, kindsOf, nodeOf } from "../support/e2e/kinds.ts";
import { tunnelNamespace } from "../support/e2e/peers.ts";
import { cloudNodes, restricted, type Site } from "../support/e2e/site.ts";

const namespace = "scheduling";
const hostNamespace = "host-network";
const secretName = "shared";
const cloud = { [environmentLabel]: "cloud" };

const secretIn = (where: string): object => ({
  ...{ apiVersion: "v1", kind: "Secret", metadata: { name: secretName, namespace: where } },
  stringData: { secret: "a secret for pods that meet nobody" },
});

const proxy = (name: string, podTemplate: object, replicas = 1): object => ({
  ...{ apiVersion: groupVersion, kind: "Proxy", metadata: { name, namespace } },
  spec: { replicas, secretRef: { name: secretName }, podTemplate },
});

export function scheduling(siteNow: () => Site): void {
  describe("scheduling", () => {
    let site: Site;
    let kinds: Kinds;

    beforeAll(async () => {
      site = siteNow();
      kinds = kindsOf(site.cluster, namespace);
      await site.cluster.createNamespace(namespace, restricted);
      await site.cluster.createNamespace(hostNamespace);
      await site.cluster.apply([secretIn(namespace), secretIn(hostNamespace)]);
    }, 30_000);

    test("distributeByNodes puts the proxies of a pair on different nodes", async () => {
      await site.cluster.apply([proxy("spread", { nodeSelector: cloud }, 2)]);
      await kinds.untilLive("spread", 2);
      const nodes = (await kinds.pods("proxy", "spread")).map(nodeOf);
      expect(nodes.toSorted()).toEqual([...cloudNodes]);
      await kinds.remove("proxy", "spread");
    }, 90_000);

    test("explicit affinity is kept beside the preference for different nodes", async () => {
      const onlyFirst = {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["cloud-1"] }] },
          ],
        },
      };
      await site.cluster.apply([proxy("pinned", { affinity: { nodeAffinity: onlyFirst } }, 2)]);
      await kinds.untilLive("pinned", 2);
      const pods = await kinds.pods("proxy", "pinned");
      expect(pods.map(nodeOf)).toEqual(["cloud-1", "cloud-1"]);
      for (const { spec } of pods) {
        expect(spec?.affinity).toMatchObject({
          nodeAffinity: onlyFirst,
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { podAffinityTerm: { topologyKey: "kubernetes.io/hostname" } },
            ],
          },
        });
      }
      await kinds.remove("proxy", "pinned");
    }, 90_000);

    test("tolerations and priority reach the pods, and a taint without toleration is named", async () => {
      const name = "reserved-for-tunnels";
      const path = "/api/v1/nodes/cloud-2";
      await site.cluster.apply([
        { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name }, value: 4711 },
      ]);
      await site.cluster.kubectl(["taint", "node", "cloud-2", "dedicated=netaminity:NoSchedule"]);
      try {
        const template = { nodeSelector: { "kubernetes.io/hostname": "cloud-2" }, priorityClassName: name };
        await site.cluster.apply([proxy("tolerant", template)]);
        expect(await kinds.untilReason("proxy", "tolerant", "Ready", "PodsFailing")).toContain("untolerated taint");
        const tolerations = [{ key: "dedicated", operator: "Equal", value: "netaminity", effect: "NoSchedule" }];
        await kinds.patch("proxy", "tolerant", { spec: { podTemplate: { tolerations } } });
        await kinds.until("proxy", "tolerant", { Ready: "True" });
        // The old pod goes when the new one carries a session, which nobody opens here.
        const pods = (await kinds.pods("proxy", "tolerant")).filter(({ status }) => status?.phase === "Running");
        expect(pods.map((pod) => [nodeOf(pod), pod.spec?.priority])).toEqual([["cloud-2", 4711]]);
      } finally {
        await site.cluster.api.request(path, { method: "PATCH", body: { spec: { taints: null } } });
      }
      await kinds.remove("proxy", "tolerant");
    }, 120_000);

    test("a runtime class that does not exist is named in the status", async () => {
      await site.cluster.apply([proxy("sandboxed", { runtimeClassName: "absent" })]);
      expect(await kinds.untilReason("proxy", "sandboxed", "Ready", "PodsFailing")).toContain(
        'RuntimeClass "absent" not found',
      );
      await kinds.remove("proxy", "sandboxed");
    }, 60_000);

    test("a Target on the node's network resolves cluster names and reaches what listens on the node only", async () => {
      const rendezvous = `host-rendezvous.${tunnelNamespace}.svc:7835`;
      const host = kindsOf(site.cluster, hostNamespace);
      await site.cluster.apply([secretIn(tunnelNamespace), hostProxy, hostTarget("first", rendezvous)]);
      await host.until("target", "first", { Ready: "True" });
      const [pod] = await host.pods("target", "first");
      const consumer = await site.consumerOn("cloud-2");
      const url = `http://host.${tunnelNamespace}.svc/proxyMode`;
      await site.kinds.until("proxy", "host", { Connected: "True" });
      await consumer.untilServed(`host.${tunnelNamespace}.svc:80`);
      expect(await consumer.request({ url })).toEqual({ status: 200, body: "nftables" });
      expect([pod?.spec?.hostNetwork, pod?.spec?.dnsPolicy]).toEqual([true, "ClusterFirstWithHostNet"]);

      await site.cluster.apply([hostTarget("second", rendezvous)]);
      const meeting = await host.untilReason("target", "second", "Ready", "PodsFailing");
      expect(meeting).toContain("free ports for the requested pod ports");
      await host.patch("target", "second", { spec: { podTemplate: { healthPort: 8081 } } });
      await host.until("target", "second", { Ready: "True" });
      await host.remove("target", "first");
      await host.remove("target", "second");
      await site.kinds.remove("proxy", "host");
    }, 150_000);
  });
}

const hostProxy = {
  ...{ apiVersion: groupVersion, kind: "Proxy", metadata: { name: "host", namespace: tunnelNamespace } },
  spec: {
    secretRef: { name: secretName },
    service: { name: "host", port: 80 },
    podTemplate: { nodeSelector: cloud },
  },
};

const hostTarget = (name: string, proxyEndpoint: string): object => ({
  ...{ apiVersion: groupVersion, kind: "Target", metadata: { name, namespace: hostNamespace } },
  spec: {
    secretRef: { name: secretName },
    // kube-proxy's own HTTP port.
    endpoint: "127.0.0.1:10249",
    proxyEndpoint,
    podTemplate: { hostNetwork: true, nodeSelector: { [environmentLabel]: "private" } },
  },
});
