/** What platforms do to pods: a user that they choose, and kernels without IPv6. */
import { beforeAll, describe, expect, test } from "bun:test";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { groupVersion } from "../../src/names.ts";
import { environmentLabel } from "../support/cluster/node-config.ts";
import { podName } from "../support/e2e/kinds.ts";
import { backendEndpoint, tunnelNamespace } from "../support/e2e/peers.ts";
import { cloudNodes, type Site } from "../support/e2e/site.ts";

const profile = "no-ipv6.json";
/** AF_INET6 and EAFNOSUPPORT of Linux: what a kernel that was started with ipv6.disable=1 answers. */
const withoutIpv6 = {
  defaultAction: "SCMP_ACT_ALLOW",
  syscalls: [
    {
      names: ["socket"],
      action: "SCMP_ACT_ERRNO",
      errnoRet: 97,
      args: [{ index: 0, value: 10, op: "SCMP_CMP_EQ" }],
    },
  ],
};

const podTemplate = {
  securityContext: {
    // From the range of a namespace, and the group 0, as OpenShift gives them.
    ...{ runAsUser: 1_000_650_000, runAsGroup: 0, fsGroup: 1_000_650_000 },
    seccompProfile: { type: "Localhost", localhostProfile: profile },
  },
};

const tunnel = {
  ...{ apiVersion: groupVersion, kind: "Tunnel", metadata: { name: "bare", namespace: tunnelNamespace } },
  spec: {
    service: { name: "bare", port: 80 },
    podTemplate,
    proxy: { podTemplate: { nodeSelector: { [environmentLabel]: "cloud" } } },
    target: { endpoint: backendEndpoint, podTemplate: { nodeSelector: { [environmentLabel]: "private" } } },
  },
};

export function platforms(siteNow: () => Site): void {
  describe("platforms", () => {
    let site: Site;

    beforeAll(async () => {
      site = siteNow();
      const nodes = join(site.cluster.run.folder, "nodes");
      for (const node of await readdir(nodes)) {
        const folder = join(nodes, node, "kubelet/seccomp");
        await mkdir(folder, { recursive: true });
        await Bun.write(join(folder, profile), JSON.stringify(withoutIpv6));
      }
    });

    test("pods without IPv6 and with a user of the platform's serve consumers, and say what they miss", async () => {
      await site.cluster.apply([tunnel]);
      await site.kinds.until("tunnel", "bare", { Ready: "True" });
      const consumer = await site.consumerOn(cloudNodes[0]);
      await consumer.untilServed(`bare.${tunnelNamespace}.svc:80`);
      const [pod] = await site.kinds.pods("proxy", "bare-0");
      const log = await site.cluster.pods.logs({
        namespace: tunnelNamespace,
        pod: pod === undefined ? "" : podName(pod),
      });
      const warnings = log.split("\n").filter((line) => line.includes("IPv6 is not available here"));
      // For the rendezvous, the consumers and the health.
      expect(warnings).toHaveLength(3);
      await site.kinds.remove("tunnel", "bare");
    }, 90_000);
  });
}
