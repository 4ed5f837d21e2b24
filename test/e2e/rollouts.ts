/** Changes that nobody may notice, while consumers are at work. */

import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { V1Pod } from "@kubernetes/client-node";
import { labels } from "../../src/names.ts";
import { type Cluster, waitFor } from "../support/cluster/index.ts";
import { nextTag, productImage } from "../support/e2e/images.ts";
import { nodeOf, podName } from "../support/e2e/kinds.ts";
import { harm, measure, unharmed } from "../support/e2e/measure.ts";
import { tunnelNamespace } from "../support/e2e/peers.ts";
import { proxyHostValues, type Site, upgradeOperator } from "../support/e2e/site.ts";
import { startTool } from "../support/e2e/tool.ts";
import { echoAddress, privateApiAddress } from "./tunnels.ts";

const namespace = tunnelNamespace;
/** Milliseconds that an established connection stays: less than the 10 s of the drain, so that none may break. */
const life = 4000;

const nextImage = `${productImage.repository}:${nextTag}`;

const tunnels = { echo: echoAddress, "private-api": privateApiAddress } as const;
type TunnelName = keyof typeof tunnels;

const annotated = (revision: string): object => ({ podTemplate: { annotations: { revision } } });

export function rollouts(siteNow: () => Site): void {
  describe("rollouts under load", () => {
    let site: Site;

    beforeAll(async () => {
      site = siteNow();
      for (const name of Object.keys(tunnels)) {
        await site.kinds.until("tunnel", name, { Ready: "True", Updated: "True" }, 90_000);
      }
    }, 200_000);

    const roll = async (name: string, tunnel: TunnelName, change: () => Promise<unknown>): Promise<void> => {
      const consumer = await site.consumerOn("cloud-1");
      const scenario = { name, goal: 0, consumer, address: tunnels[tunnel], life };
      const impact = await measure(site, scenario, async () => {
        await change();
        await untilRolled(site, tunnel);
      });
      expect(harm(impact)).toEqual(unharmed);
    };

    test("a changed pod template of the proxy side", async () => {
      await roll("rollout: proxy's podTemplate", "echo", () =>
        site.kinds.patch("tunnel", "echo", { spec: { proxy: annotated("1") } }),
      );
    }, 180_000);

    test("a changed pod template of the target side", async () => {
      await roll("rollout: target's podTemplate", "echo", () =>
        site.kinds.patch("tunnel", "echo", { spec: { target: annotated("1") } }),
      );
    }, 180_000);

    test("a changed pod template of a Tunnel with two pairs of two proxies", async () => {
      await roll("rollout: Tunnel of 2 pairs, 2 proxies each", "private-api", () =>
        site.kinds.patch("tunnel", "private-api", { spec: annotated("1") }),
      );
    }, 180_000);

    test.each(["required", "off"] as const)(
      "encryption of a Tunnel with two pairs becomes %s",
      async (encryption) => {
        await roll(`encryption ${encryption}, Tunnel of 2 pairs`, "private-api", () =>
          site.kinds.patch("tunnel", "private-api", { spec: { encryption } }),
        );
        const settings = (await podsOf(site.cluster, "private-api")).map(
          ({ spec }) => spec?.containers[0]?.env?.find(({ name }) => name === "NETAMINITY_ENCRYPTION")?.value ?? "off",
        );
        expect([settings.length, ...new Set(settings)]).toEqual([6, encryption]);
      },
      240_000,
    );

    test("helm upgrades operator and agents to another image", async () => {
      const consumer = await site.consumerOn("cloud-2");
      const other = { name: "helm upgrade, Tunnel of 2 pairs", goal: 0, consumer, address: privateApiAddress, life };
      await roll("helm upgrade, Tunnel of 1 pair", "echo", async () => {
        const impact = await measure(site, other, async () => {
          await upgradeOperator(site.cluster, proxyHostValues(site.cluster));
          for (const tunnel of ["echo", "private-api"] as const) {
            await untilImage(site, tunnel, nextImage);
            await untilRolled(site, tunnel);
          }
        });
        expect(harm(impact)).toEqual(unharmed);
      });
    }, 240_000);

    test("the secret of a Tunnel is replaced by one command", async () => {
      const pods = [...(await site.kinds.pods("proxy", "echo-0")), ...(await site.kinds.pods("target", "echo-0"))];
      const path = `/api/v1/namespaces/${namespace}/secrets/echo-secret`;
      const data = async () => (await site.cluster.api.request<{ data: Record<string, string> }>(path)).data;
      const before = await data();
      await roll("secret rotated, Tunnel", "echo", async () => {
        await startTool(site.cluster, ["rotate", "tunnel/echo", "-n", namespace]).done;
        await forEachPod("has forgotten the old secret", pods, async (pod) => !hasPreviousSecret(site, pod));
      });
      const { secret, ...others } = await data();
      expect([secret === before.secret, others]).toEqual([false, {}]);
      const after = [...(await site.kinds.pods("proxy", "echo-0")), ...(await site.kinds.pods("target", "echo-0"))];
      expect(after.map(podName)).toEqual(pods.map(podName));
    }, 240_000);
  });
}

/** Until all pods are of the new revision and the last of the old ones has gone. */
export async function untilRolled({ kinds }: Site, tunnel: TunnelName): Promise<void> {
  await kinds.until("tunnel", tunnel, { Ready: "True", Updated: "True" }, 90_000);
  await kinds.untilNoneLeave("tunnel", tunnel);
}

/** Until the operator has changed the pods to that image: a Tunnel's own conditions cannot know before it does. */
export async function untilImage({ cluster }: Pick<Site, "cluster">, tunnel: TunnelName, image: string): Promise<void> {
  await waitFor(`pods of ${tunnel} with image ${image}`, { deadline: 150_000, interval: 250 }, async () => {
    const pods = await podsOf(cluster, tunnel);
    return pods.length > 0 && pods.every((pod) => pod.spec?.containers[0]?.image === image);
  });
}

const podsOf = (cluster: Cluster, tunnel: TunnelName): Promise<V1Pod[]> =>
  cluster.pods.list(namespace, `${labels.tunnel}=${tunnel}`);

async function forEachPod(
  what: string,
  pods: readonly V1Pod[],
  probe: (pod: V1Pod) => Promise<boolean>,
): Promise<void> {
  for (const pod of pods) {
    await waitFor(`pod ${podName(pod)} ${what}`, { deadline: 90_000, interval: 250 }, () => probe(pod));
  }
}

/** The file as the kubelet shows it to the pod. */
function hasPreviousSecret({ cluster }: Site, pod: V1Pod): boolean {
  const node = cluster.nodes.find(({ name }) => name === nodeOf(pod));
  const volume = join(
    `${node?.folder}`,
    "kubelet/pods",
    `${pod.metadata?.uid}`,
    "volumes/kubernetes.io~projected/secret",
  );
  if (!existsSync(join(volume, "secret"))) throw new Error(`${volume} holds no secret`);
  return existsSync(join(volume, "previous-secret"));
}
