/** Changes with which the newest pods cannot serve, while consumers are at work: what served before goes on serving, and the status says why. */
import { beforeAll, describe, expect, test } from "bun:test";
import { groupVersion } from "../../src/names.ts";
import { environmentLabel } from "../support/cluster/node-config.ts";
import { podName } from "../support/e2e/kinds.ts";
import { harm, measure, unharmed } from "../support/e2e/measure.ts";
import { backendEndpoint, tunnelNamespace } from "../support/e2e/peers.ts";
import { cloudNodes, type Site } from "../support/e2e/site.ts";

const namespace = tunnelNamespace;
const name = "careful";
const address = `${name}.${namespace}.svc:80`;
/** Milliseconds that an established connection stays. */
const life = 4000;

const secret = (of: string, value: string): object => ({
  ...{ apiVersion: "v1", kind: "Secret", metadata: { name: of, namespace } },
  stringData: { secret: value },
});

const on = (environment: string): object => ({ podTemplate: { nodeSelector: { [environmentLabel]: environment } } });

export function badChanges(siteNow: () => Site): void {
  describe("changes that get no session", () => {
    let site: Site;

    beforeAll(async () => {
      site = siteNow();
      const secretRef = { name: `${name}-secret` };
      await site.cluster.apply([
        secret(secretRef.name, "a secret that both ends know"),
        secret("another-secret", "a secret that the other end does not know"),
        {
          ...{ apiVersion: groupVersion, kind: "Proxy", metadata: { name, namespace } },
          spec: { secretRef, replicas: 2, service: { name, port: 80 }, ...on("cloud") },
        },
        {
          ...{ apiVersion: groupVersion, kind: "Target", metadata: { name, namespace } },
          spec: {
            ...{ secretRef, endpoint: backendEndpoint, proxyEndpoint: `${name}-rendezvous.${namespace}.svc:7835` },
            ...on("private"),
          },
        },
      ]);
      await site.kinds.until("proxy", name, { Connected: "True", Updated: "True" }, 90_000);
      await (await site.consumerOn("cloud-1")).untilServed(address);
    }, 120_000);

    /** Patches the Proxy, waits until the attempt has failed, and takes the change back. */
    const survive = async (scenario: string, bad: object, good: object): Promise<void> => {
      const consumer = await site.consumerOn("cloud-1");
      const before = podName(await site.kinds.activePod(name));
      const impact = await measure(site, { name: scenario, goal: 0, consumer, address, life }, async () => {
        await site.kinds.patch("proxy", name, { spec: bad });
        const message = await site.kinds.untilReason("proxy", name, "Updated", "NoSessionAfterChange", 60_000);
        expect(message).toContain("goes on serving");
        expect(podName(await site.kinds.activePod(name))).toBe(before);
        const { metadata, status } = await site.kinds.get("proxy", name);
        const conditions = new Map(status?.conditions?.map((each) => [each.type, each]));
        for (const type of ["Ready", "Connected"]) {
          expect(conditions.get(type)?.status).toBe("True");
          // Thanks to the pods before the change.
          expect(conditions.get(type)?.observedGeneration).toBeLessThan(metadata.generation);
        }
        expect(conditions.get("Stalled")).toMatchObject({ status: "True", reason: "NoSessionAfterChange" });
        await site.kinds.patch("proxy", name, { spec: good });
        await site.kinds.until("proxy", name, { Connected: "True", Updated: "True" }, 90_000);
      });
      expect(harm(impact)).toEqual(unharmed);
    };

    test("a secretRef to a Secret of another value", async () => {
      await survive(
        "bad change: another secret",
        { secretRef: { name: "another-secret" } },
        { secretRef: { name: `${name}-secret` } },
      );
    }, 180_000);

    test("new pods whose rendezvous port nobody reaches", async () => {
      const { status } = await site.kinds.activePod(name);
      const family = status?.podIP?.includes(":") ? "ip6" : "ip";
      const block = [
        "add table inet blocked",
        "add chain inet blocked forward { type filter hook forward priority -10; }",
        `add rule inet blocked forward ${family} daddr != ${status?.podIP} tcp dport 7835 drop`,
      ];
      const everywhere = (command: readonly string[]): Promise<unknown> =>
        Promise.all(cloudNodes.map((node) => site.cluster.runIn(node, ["nft", ...command])));
      for (const line of block) await everywhere([line]);
      try {
        await survive(
          "bad change: nobody reaches the new pods",
          { podTemplate: { annotations: { revision: "blocked" } } },
          { podTemplate: { annotations: null } },
        );
      } finally {
        await everywhere(["delete table inet blocked"]);
      }
    }, 180_000);
  });
}
