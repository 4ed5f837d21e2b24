import { describe, expect, test } from "bun:test";
import type { Resource } from "../../src/kube/resources.ts";
import { resources } from "../../src/operator/resources.ts";
import { runPods } from "./kubelet.ts";
import { conditionOf, makeProxy, makeSecret, makeTarget, makeTunnel } from "./objects.ts";
import { type Site, startSite } from "./site.ts";
import { proxyChanges, targetChanges, tunnelChanges } from "./spec-changes.ts";
import type { SpecChange } from "./spec-template.ts";

/** Makes each change in turn on one object and waits for its effect. */
async function changeInTurn(
  site: Site,
  resource: Resource,
  name: string,
  changes: Record<string, SpecChange>,
): Promise<void> {
  for (const [title, { change, child, shows, as }] of Object.entries(changes)) {
    await site.objects.patch(resource, name, { spec: change });
    const seen = async () => {
      const live = await site.objects.get(...child);
      return live === undefined ? "absent" : shows(live);
    };
    await site
      .until(title, async () => Bun.deepEquals(await seen(), as))
      .catch(async (error: unknown) => {
        expect({ [title]: await seen() }).toEqual({ [title]: as });
        throw error;
      });
  }
}

describe("every field of a spec has its effect when it changes", () => {
  test("of a Proxy", async () => {
    await using site = await startSite("spec", { settings: { proxyHost: "nodes" } });
    await site.objects.create(makeSecret("db-key"));
    await site.objects.create(makeSecret("other-key"));
    await site.objects.create(makeProxy("db"));
    await changeInTurn(site, resources.proxy, "db", proxyChanges);
    expect(await site.objects.names(resources.service)).toEqual(["db-rendezvous", "sql"]);
    expect(conditionOf(await site.objects.get(resources.proxy, "db"))).not.toContain("InvalidSpec");
  }, 150_000);

  test("of a Target", async () => {
    await using site = await startSite("spec");
    await site.objects.create(makeSecret("db-key"));
    await site.objects.create(makeSecret("other-key"));
    await site.objects.create(makeTarget("db"));
    await changeInTurn(site, resources.target, "db", targetChanges);
    expect(conditionOf(await site.objects.get(resources.target, "db"))).not.toContain("InvalidSpec");
  }, 150_000);

  test("of a Tunnel", async () => {
    await using site = await startSite("spec", { settings: { proxyHost: "nodes" } });
    await using _pods = runPods(site.plane, site.objects, () => true);
    await site.objects.create(makeTunnel("web"));
    await changeInTurn(site, resources.tunnel, "web", tunnelChanges);
    expect(await site.objects.names(resources.service)).toEqual(["web-0-rendezvous", "web-1-rendezvous", "www"]);
  }, 150_000);
});
