/** Where pods are when a node is lost, and that nobody notices when they are brought there. */
import { beforeAll, describe, expect, test } from "bun:test";
import { groupVersion } from "../../src/names.ts";
import { waitFor } from "../support/cluster/index.ts";
import { environmentLabel } from "../support/cluster/node-config.ts";
import { nodeOf, podName } from "../support/e2e/kinds.ts";
import { addRow, harm, measure, unharmed } from "../support/e2e/measure.ts";
import { backendEndpoint, backendObjects, tunnelNamespace } from "../support/e2e/peers.ts";
import { restricted, type Site } from "../support/e2e/site.ts";

const namespace = tunnelNamespace;
const second = 1000;
/** The node that is not lost, and the one that is. */
const [kept, lost] = ["cloud-1", "cloud-2"] as const;
const hostname = "kubernetes.io/hostname";
const backendNamespace = "near";

const addressOf = (name: string): string => `${name}.${namespace}.svc:80`;

const tunnel = (name: string, spec: object): object => ({
  ...{ apiVersion: groupVersion, kind: "Tunnel", metadata: { name, namespace } },
  spec: { service: { name, port: 80 }, ...spec },
});

/** Nothing but target pods is on the node that is lost, which is where a single one prefers to be. */
const targetTunnel = (name: string, replicas: number): object => {
  const preference = { matchExpressions: [{ key: hostname, operator: "In", values: [lost] }] };
  const preferred = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] };
  return tunnel(name, {
    proxy: { podTemplate: { nodeSelector: { [hostname]: kept } } },
    target: {
      replicas,
      endpoint: `private-api.${backendNamespace}.svc:8080`,
      podTemplate: { nodeSelector: { [environmentLabel]: "cloud" }, affinity: { nodeAffinity: preferred } },
    },
  });
};

export function placement(siteNow: () => Site): void {
  describe("placement", () => {
    let site: Site;

    beforeAll(() => {
      site = siteNow();
    });

    test("pairs that share a node are parted, and nobody notices", async () => {
      const { kinds, cluster } = site;
      const on = (environment: string) => ({ podTemplate: { nodeSelector: { [environmentLabel]: environment } } });
      const target = { endpoint: backendEndpoint, ...on("private") };
      await cluster.apply([tunnel("apart", { replicas: 2, proxy: { replicas: 2, ...on("cloud") }, target })]);
      const whole = async (): Promise<void> => {
        await kinds.until("tunnel", "apart", { Ready: "True", Updated: "True" }, 90_000);
        for (const proxy of ["apart-0", "apart-1"]) await kinds.untilLive(proxy, 2);
      };
      const active = async (pair: number) => kinds.activePod(`apart-${pair}`);
      /** Also without a session with the pod that it has left. */
      const untilApart = () =>
        waitFor("active pods on different nodes, at rest", { deadline: 90_000 }, async () => {
          await whole();
          const ready = await Promise.all(
            [0, 1].map(async (pair) => (await kinds.get("proxy", `apart-${pair}`)).status?.readyReplicas),
          );
          return ready.every((count) => count === 1) && nodeOf(await active(0)) !== nodeOf(await active(1));
        });
      await untilApart();
      const [first, yielding] = [await active(0), podName(await active(1))];
      const consumer = await site.consumerOn(kept);
      const scenario = { name: "pairs that share a node parted", goal: 0, consumer, address: addressOf("apart") };
      const impact = await measure(site, { ...scenario, life: 4 * second }, async () => {
        // Its standby is where the other pair's active pod is. A new standby comes up here, and that pair has had one here all the time.
        await cluster.kubectl(["delete", "pod", "--namespace", namespace, podName(first), "--wait=false"]);
        await waitFor(
          "the other pair has moved",
          { deadline: 90_000 },
          async () => podName(await active(1)) !== yielding,
        );
        await untilApart();
        // Then the target takes nothing more from there, 15 s after it has left.
        await Bun.sleep(15 * second);
      });
      expect(harm(impact)).toEqual(unharmed);
      expect(nodeOf(await active(0))).not.toBe(nodeOf(await active(1)));
      await kinds.remove("tunnel", "apart");
    }, 300_000);

    test("the node of a target pod is powered off, with one and with two of them", async () => {
      const { kinds, cluster } = site;
      const names = ["lone", "twin"] as const;
      await cluster.createNamespace(backendNamespace, restricted);
      await cluster.apply([
        ...backendObjects(backendNamespace, { [hostname]: kept }),
        ...names.map((name, index) => targetTunnel(name, index + 1)),
      ]);
      for (const name of names) await kinds.until("tunnel", name, { Ready: "True", Updated: "True" }, 90_000);
      const placed = async (name: string) => (await kinds.pods("target", `${name}-0`)).map(nodeOf).toSorted();
      expect([await placed("lone"), await placed("twin")]).toEqual([[lost], [kept, lost]]);
      const consumer = await site.consumerOn(kept);
      for (const name of names) await consumer.untilServed(addressOf(name));
      await using lone = await consumer.startLoad({ address: addressOf("lone") });
      await using twin = await consumer.startLoad({ address: addressOf("twin") });
      const since = Date.now();
      try {
        await cluster.powerOff(lost);
        expect(await kinds.untilReason("target", "lone-0", "Ready", "NodeNotReady")).toContain(`node ${lost}`);
        await twin.calm();
        await lone.calm();
        const rows = [
          { scenario: "target's node powered off, one target pod", goal: 35 * second, load: lone },
          { scenario: "target's node powered off, two target pods", goal: 10 * second, load: twin },
        ];
        for (const { load, ...row } of rows) {
          const impact = await load.stop(since);
          addRow(site, { ...row, impact });
          expect(impact.corrupt).toBe(0);
        }
        expect(await placed("lone")).toEqual([kept]);
      } finally {
        await cluster.powerOn(lost);
      }
      for (const name of names) await kinds.remove("tunnel", name);
    }, 240_000);
  });
}
