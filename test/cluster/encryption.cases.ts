import { describe, expect, test } from "bun:test";
import { resources } from "../../src/operator/resources.ts";
import { nextAddress, podsOf, reportPod, runPods } from "./kubelet.ts";
import { type Anything, conditionOf, type Live, makeTunnel } from "./objects.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

const variable = "NETAMINITY_ENCRYPTION";

const isProxy = (pod: Live): boolean => pod.spec.containers[0].args[0] === "proxy";
const settingOf = (pod: Live): string =>
  pod.spec.containers[0].env.find(({ name }: Anything) => name === variable)?.value ?? "default";

/** What both objects of the pair ask for, and what their pods that are not being deleted were started with. */
async function pairNow({ objects }: Site) {
  const [proxy, target] = [await objects.get(resources.proxy, "db-0"), await objects.get(resources.target, "db-0")];
  const pods = [...(await podsOf(objects, { proxy: "db-0" })), ...(await podsOf(objects, { target: "db-0" }))];
  const settings = (some: Live[]) => [...new Set(some.map(settingOf))].sort();
  return {
    asked: [proxy?.spec.encryption, target?.spec.encryption],
    proxyPods: settings(pods.filter(isProxy)),
    targetPods: settings(pods.filter((pod) => !isProxy(pod))),
  };
}

/** Reports as ready what was kept from it. */
async function release(site: Site, of: { proxy?: string; target?: string }): Promise<void> {
  for (const pod of await podsOf(site.objects, of)) {
    await reportPod(site.plane, site.objects, pod, { ready: true, ip: pod.status?.podIP ?? nextAddress() });
  }
}

const tunnelNow = async ({ objects }: Site) => {
  const live = await objects.get(resources.tunnel, "db");
  const updated = live?.status?.conditions.find(({ type }: Anything) => type === "Updated")?.message ?? "";
  const [pair] = live?.status?.replicasStatus ?? [];
  return { ready: conditionOf(live), updated, message: pair?.message };
};
const isUpdated = async (site: Site) =>
  conditionOf(await site.objects.get(resources.tunnel, "db"), "Updated") === "True UpToDate";

describe("encryption of a Tunnel", () => {
  test("is switched on and off in the order in which nothing is cut, also by an operator that is restarted meanwhile", async () => {
    await using site = await startSite("encryption");
    const { objects } = site;
    // Pods that are started with another setting than the first have no session before the test lets them.
    let held = false;
    await using _pods = runPods(site.plane, objects, () => !held);
    await objects.create(makeTunnel("db"));
    await site.until("ready", () => isUpdated(site));
    expect(await pairNow(site)).toEqual({
      asked: ["optional", "off"],
      proxyPods: ["default"],
      targetPods: ["default"],
    });

    held = true;
    await objects.patch(resources.tunnel, "db", { spec: { encryption: "required" } });
    const rolling = { asked: ["optional", "required"], proxyPods: ["default"], targetPods: ["default", "required"] };
    await site.until("the Target rolls out", async () => Bun.deepEquals(await pairNow(site), rolling));
    await site.restart();
    const waits = "encryption: its Proxy requires it once Target db-0 is rolled out (RollingOut: ";
    await site.until("the reason", async () => (await tunnelNow(site)).message?.startsWith(waits));
    await untilAtRest(site);
    expect(await pairNow(site)).toEqual(rolling);
    expect(await tunnelNow(site)).toMatchObject({
      ready: "True AllPairsReady",
      updated: expect.stringContaining(`0 of 1 pairs are up to date; pair 0: ${waits}`),
    });

    held = false;
    await release(site, { target: "db-0" });
    await site.until("on", () => isUpdated(site));
    const on = { asked: ["required", "required"], proxyPods: ["required"], targetPods: ["required"] };
    expect([await pairNow(site), await tunnelNow(site)]).toEqual([
      on,
      { ready: "True AllPairsReady", updated: "all pods and Services are up to date", message: undefined },
    ]);
    const wide = await site.plane.kubectl(["get", "tunnels,proxies,targets", "-n", site.namespace, "-o", "wide"]);
    expect(wide.match(/ ENCRYPTION /g)?.length).toBe(3);
    expect(wide.match(/ required /g)?.length).toBe(3);

    held = true;
    await objects.patch(resources.tunnel, "db", { spec: { encryption: "off" } });
    const leaving = { asked: ["optional", "required"], proxyPods: ["default", "required"], targetPods: ["required"] };
    await site.until("the Proxy rolls out", async () => Bun.deepEquals(await pairNow(site), leaving));
    await site.restart();
    const waitsToStop = "encryption: its Target stops it once Proxy db-0 is rolled out (RollingOut: ";
    await site.until("the reason", async () => (await tunnelNow(site)).message?.startsWith(waitsToStop));
    await untilAtRest(site);
    expect(await pairNow(site)).toEqual(leaving);

    held = false;
    await release(site, { proxy: "db-0" });
    await site.until("off", () => isUpdated(site));
    expect(await pairNow(site)).toEqual({
      asked: ["optional", "off"],
      proxyPods: ["default"],
      targetPods: ["default"],
    });
  }, 150_000);

  test("is on from the beginning in a new Tunnel, and rolls no pod", async () => {
    await using site = await startSite("encrypted");
    await using _pods = runPods(site.plane, site.objects, () => true);
    await site.objects.create(makeTunnel("db", { encryption: "required" }));
    await site.until("ready", () => isUpdated(site));
    await untilAtRest(site);
    expect(await pairNow(site)).toEqual({
      asked: ["required", "required"],
      proxyPods: ["required"],
      targetPods: ["required"],
    });
    const deployments = await site.objects.list(resources.deployment);
    expect(deployments.map(({ metadata }) => metadata.generation)).toEqual([1, 1]);
  }, 60_000);
});
