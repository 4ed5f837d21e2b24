/** The dashboard in a real browser, on a Tunnel at work and while the API server is away. */
import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openPage } from "../support/dashboard/browser.ts";
import { startDashboardProcess } from "../support/dashboard/process.ts";
import { root } from "../support/e2e/images.ts";
import { nodeOf, podName } from "../support/e2e/kinds.ts";
import type { Site } from "../support/e2e/site.ts";
import { echoAddress } from "./tunnels.ts";

export function dashboard(siteNow: () => Site): void {
  describe("the dashboard", () => {
    let site: Site;
    beforeAll(() => {
      site = siteNow();
    });

    test("shows a Tunnel at work, says when the API server is away, and goes on when it is back", async () => {
      await site.kinds.until("tunnel", "echo", { Ready: "True", Updated: "True" }, 90_000);
      await site.kinds.untilLive("echo-0", 2);
      const active = await site.kinds.activePod("echo-0");
      await using served = await startDashboardProcess([
        "--kubeconfig",
        site.cluster.kubeconfig,
        "--interval",
        "500ms",
      ]);
      await using opened = await openPage(served.link);
      const { page, complaints } = opened;
      const consumer = await site.consumerOn("cloud-1");
      await using load = await consumer.startLoad({ address: echoAddress });

      await page.locator("a.card", { hasText: "echo" }).click({ timeout: 20_000 });
      const detail = page.locator(".detail");
      // Four connections stay, others come and go.
      await detail.locator(".state", { hasText: /serves · 1 session · [4-9] streams/ }).waitFor({ timeout: 20_000 });
      const pod = detail.locator(".pod.good", { hasText: `active ${podName(active)}` });
      expect(await pod.textContent()).toContain(`on ${nodeOf(active)}`);
      expect(await detail.locator(".pod.waits", { hasText: "stands by" }).count()).toBe(1);
      await detail.locator(".pod.good", { hasText: "target" }).waitFor();
      await detail.locator(".end", { hasText: /↓ \d/ }).waitFor({ timeout: 20_000 });
      await detail.locator(".verdict", { hasText: "healthy" }).waitFor({ timeout: 20_000 });

      // To be looked at, and for the documents.
      await page.screenshot({ path: join(root, ".cache/dashboard.png") });

      await site.cluster.stopController("kube-controller-manager");
      await site.cluster.stopApiServer();
      const alert = page.getByRole("alert");
      try {
        await alert.waitFor({ timeout: 30_000 });
        expect(await alert.textContent()).toContain("What is below was seen at");
        expect(await detail.count()).toBe(1);
      } finally {
        await site.cluster.startApiServer();
        await site.cluster.startController("kube-controller-manager");
      }
      await alert.waitFor({ state: "detached", timeout: 30_000 });
      await load.stop(Date.now());
      expect(complaints).toEqual([]);
    }, 180_000);
  });
}
