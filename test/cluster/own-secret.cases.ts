import { expect, test } from "bun:test";
import { fingerprintOf } from "../../src/fingerprint.ts";
import { resources } from "../../src/operator/resources.ts";
import { runPods } from "./kubelet.ts";
import { conditionOf, makeProxy, makeSecret } from "./objects.ts";
import { startSite, untilAtRest } from "./site.ts";

const unnamed = { secretRef: undefined };

test("a Proxy that names no Secret gets one of its own, which outlives changes of the Proxy and goes with it", async () => {
  await using site = await startSite("own-secret");
  const { objects } = site;
  await using _pods = runPods(site.plane, objects, () => true);
  await objects.create(makeProxy("edge", unnamed));
  const ready = async () => conditionOf(await objects.get(resources.proxy, "edge")) === "True Available";
  await site.until("ready", ready);
  const made = await objects.get(resources.secret, "edge-proxy-secret");
  expect(Buffer.from(atob(made?.data?.secret ?? ""), "base64").byteLength).toBe(32);
  expect((await objects.get(resources.proxy, "edge"))?.status.secretName).toBe("edge-proxy-secret");

  await site.until("the fingerprint", async () => {
    const { status } = (await objects.get(resources.proxy, "edge")) ?? {};
    return status.secretFingerprint === (await fingerprintOf(atob(made?.data?.secret ?? "")));
  });

  await objects.patch(resources.proxy, "edge", { spec: { replicas: 2 } });
  await site.restart();
  await untilAtRest(site);
  expect((await objects.get(resources.secret, "edge-proxy-secret"))?.data).toEqual(made?.data);

  await objects.create(makeSecret("edge-key"));
  await objects.patch(resources.proxy, "edge", { spec: { secretRef: { name: "edge-key" } } });
  await site.until("another one", async () => {
    return (await objects.get(resources.proxy, "edge"))?.status.secretName === "edge-key";
  });
  // Whoever goes back to it finds the value that the other side knows.
  await objects.patch(resources.proxy, "edge", { spec: { secretRef: null } });
  await site.until("the first one again", async () => {
    return (await objects.get(resources.proxy, "edge"))?.status.secretName === "edge-proxy-secret";
  });
  expect((await objects.get(resources.secret, "edge-proxy-secret"))?.data).toEqual(made?.data);

  await objects.remove(resources.proxy, "edge");
  await site.until(
    "the Secret goes with the Proxy",
    async () => (await objects.get(resources.secret, "edge-proxy-secret")) === undefined,
  );
  expect(await objects.get(resources.secret, "edge-key")).toBeDefined();
}, 120_000);

test("a stranger's Secret of that name is neither used nor changed, and said", async () => {
  await using site = await startSite("strange-secret");
  const { objects } = site;
  await objects.create(makeSecret("edge-proxy-secret"));
  const before = await objects.get(resources.secret, "edge-proxy-secret");
  await objects.create(makeProxy("edge", unnamed));
  await site.until(
    "refused",
    async () => conditionOf(await objects.get(resources.proxy, "edge")) === "False NameConflict",
  );
  await untilAtRest(site);
  expect(await objects.get(resources.secret, "edge-proxy-secret")).toEqual(before);
  expect(await objects.names(resources.deployment)).toEqual([]);
}, 60_000);
