/** From this version to 0.1 and back, chart, operator and agents, while consumers are at work. */

import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { archiveOf, nextTag, productImage } from "../support/e2e/images.ts";
import { harm, measure, unharmed } from "../support/e2e/measure.ts";
import { downgradeOperator, proxyHostValues, type Site, upgradeOperator } from "../support/e2e/site.ts";
import { builtFrom } from "../support/earlier-version.ts";
import { untilImage, untilRolled } from "./rollouts.ts";
import { echoAddress, privateApiAddress } from "./tunnels.ts";

const oldTag = "0.1";
const tunnels = ["echo", "private-api"] as const;
/** Milliseconds that an established connection stays: less than the drain. */
const life = 4000;

export function upgrade(siteNow: () => Site): void {
  describe("version 0.1", () => {
    let site: Site;
    let chart: string;

    beforeAll(async () => {
      site = siteNow();
      const folder = await builtFrom("version-0.1");
      chart = join(folder, "chart");
      const archive = await archiveOf(join(folder, "netaminity"), oldTag, join(site.cluster.run.folder, "archives"));
      await site.cluster.loadImage(archive);
      for (const name of tunnels) {
        await site.kinds.until("tunnel", name, { Ready: "True", Updated: "True" }, 90_000);
      }
    }, 200_000);

    /** Both Tunnels under load until all their pods have the image. */
    const change = async (name: string, tag: string, helm: () => Promise<void>): Promise<void> => {
      const consumer = await site.consumerOn("cloud-2");
      const other = await site.consumerOn("cloud-1");
      const pairs = { name: `${name}, Tunnel of 2 pairs`, goal: 0, consumer, address: privateApiAddress, life };
      const pair = { name: `${name}, Tunnel of 1 pair`, goal: 0, consumer: other, address: echoAddress, life };
      const impacts: object[] = [];
      const outer = await measure(site, pair, async () => {
        const inner = await measure(site, pairs, async () => {
          await helm();
          for (const tunnel of tunnels) {
            await untilImage(site, tunnel, `${productImage.repository}:${tag}`);
            await untilRolled(site, tunnel);
          }
        });
        impacts.push(harm(inner));
      });
      expect([...impacts, harm(outer)]).toEqual([unharmed, unharmed]);
    };

    test("takes over what this version made", async () => {
      await change("helm upgrade back to 0.1", oldTag, () =>
        downgradeOperator(site.cluster, chart, oldTag, proxyHostValues(site.cluster)),
      );
    }, 300_000);

    test("is replaced by this version", async () => {
      await change("helm upgrade from 0.1", nextTag, () =>
        upgradeOperator(site.cluster, proxyHostValues(site.cluster)),
      );
    }, 300_000);
  });
}
