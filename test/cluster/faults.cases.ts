import { describe, expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { parse, stringify } from "yaml";
import { kubeconfigCredentials } from "../../src/kube/kubeconfig.ts";
import { resources } from "../../src/operator/resources.ts";
import { runPods } from "./kubelet.ts";
import { conditionOf, type Live, makeTunnel } from "./objects.ts";
import { leads, type Site, startSite, untilAtRest } from "./site.ts";

async function readyTunnel(site: Site): Promise<void> {
  await site.objects.create(makeTunnel("db"));
  await untilTunnel(site, "True AllPairsReady");
  await untilAtRest(site);
}

const untilTunnel = (site: Site, reason: string) =>
  site.until(reason, async () => conditionOf(await site.objects.get(resources.tunnel, "db")) === reason, 60_000);

const identities = (objects: readonly Live[]) =>
  objects.map(({ metadata, spec }) => [metadata.name, metadata.uid, spec]);

/** A change that only an operator that works can answer. */
async function stillWorks(site: Site, port: number): Promise<void> {
  await site.objects.patch(resources.tunnel, "db", { spec: { service: { port } } });
  await site.until(
    `Service with port ${port}`,
    async () => (await site.objects.get(resources.service, "db"))?.spec.ports[0].port === port,
    60_000,
  );
}

describe("the operator goes on", () => {
  test("after the API server was away for longer than the lease, and changes nothing because of it", async () => {
    await using site = await startSite("restart");
    await using _pods = runPods(site.plane, site.objects, () => true);
    await readyTunnel(site);
    const before = identities(await site.objects.list(resources.deployment));
    await site.plane.stopApiServer();
    try {
      await site.until("no longer leading", async () => !(await leads(site.operator)));
    } finally {
      await site.plane.startApiServer();
    }
    await site.until("leading again", () => leads(site.operator), 60_000);
    await untilAtRest(site);
    expect(identities(await site.objects.list(resources.deployment))).toEqual(before);
    await stillWorks(site, 8001);
    expect(site.operator.notReady()).toBeUndefined();
  }, 150_000);

  test("after the API server stopped answering with all connections open", async () => {
    const watch = { idle: 2000, firstBackoff: 50, maxBackoff: 500 };
    await using site = await startSite("frozen", {
      operator: { timing: { watch, leader: { duration: 3000, renewDeadline: 2000, retry: 200 } } },
    });
    await using _pods = runPods(site.plane, site.objects, () => true);
    await readyTunnel(site);
    site.plane.pauseApiServer();
    try {
      await site.until("no longer leading", async () => !(await leads(site.operator)));
    } finally {
      site.plane.resumeApiServer();
    }
    await site.until("leading again", () => leads(site.operator), 60_000);
    await stillWorks(site, 8001);
    const { values } = await site.operator.metrics.watchRestarts.get();
    expect(values.some(({ labels }) => labels.cause === "idle")).toBe(true);
  }, 150_000);

  test("when its token is no longer accepted and a new one lies in the file", async () => {
    await using site = await startSite("token");
    const { plane, namespace, objects } = site;
    await using _pods = runPods(plane, objects, () => true);
    const tokenFile = `${site.kubeconfig}.token`;
    await writeFile(tokenFile, await plane.token(namespace, "operator"));
    const config = parse(await readFile(site.kubeconfig, "utf8"));
    for (const entry of config.users) {
      entry.user = { tokenFile };
    }
    await writeFile(site.kubeconfig, stringify(config));
    await site.restart({ credentials: kubeconfigCredentials(site.kubeconfig) });
    await readyTunnel(site);
    // A token dies with its ServiceAccount; the successor of the same name has the same rights.
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    await plane.api.request(`${path}/operator`, { method: "DELETE" });
    await plane.api.request(path, { body: { metadata: { name: "operator" } } });
    await site.until(
      "refused",
      async () => Object.keys(await site.requests()).some((call) => call.endsWith(" 401")),
      60_000,
    );
    await writeFile(tokenFile, await plane.token(namespace, "operator"));
    await stillWorks(site, 8001);
  }, 150_000);

  test("in another replica when the one that leads stops", async () => {
    await using site = await startSite("replicas");
    await using _pods = runPods(site.plane, site.objects, () => true);
    await readyTunnel(site);
    await using second = site.startReplica();
    await site.until("second is ready", async () => second.operator.notReady() === undefined);
    expect(await leads(second.operator)).toBe(false);
    await site.operator.stop();
    await site.until("second leads", () => leads(second.operator));
    await stillWorks(site, 8001);
  }, 90_000);
});
