import { describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtIn, resourcePath } from "../../src/kube/resources.ts";
import { resources } from "../../src/operator/resources.ts";
import { openNetsody } from "../../src/publish/open.ts";
import { makeBase, pkOf } from "../support/netsody.ts";
import { acceptAsAgent } from "../support/netsody-validator.ts";
import type { Live } from "./objects.ts";
import { outputName, type PublishSite, requestsWithin, startPublishSite } from "./publish-site.ts";

async function baseFile(text: string) {
  const folder = await mkdtemp(join(tmpdir(), "netaminity-netsody-"));
  const path = join(folder, "network.toml");
  await Bun.write(path, text);
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

function start(site: PublishSite, path: string) {
  const open = openNetsody({
    baseFile: path,
    table: "resource",
    groups: ["ALL"],
    force: false,
    output: { kind: "secret", namespace: site.namespace, objectName: outputName },
    listen: { host: "127.0.0.1", port: 0 },
    networkName: "mesh",
    username: "agent",
    password: "secret",
    passwordFile: undefined,
  });
  return site.start({ open });
}

const get = (port: number | undefined, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${port}/netsody/mesh.toml`, {
    headers: { authorization: `Basic ${btoa("agent:secret")}`, ...headers },
  });

describe("a Netsody network", () => {
  test("is published with the pod CIDRs of all Nodes, and served alike by all replicas", async () => {
    await using site = await startPublishSite("netsody");
    await using file = await baseFile(makeBase(["pub-a", "pub-b"]));
    await site.objects.create({ apiVersion: "v1", kind: "Secret", metadata: { name: outputName } });
    await site.node("pub-a", ["10.42.0.0/24", "fd00:42::/64"]);
    await using one = start(site, file.path);
    await using two = start(site, file.path);
    const entries = async () => {
      const response = await get(one.servedPort);
      return response.status === 200 ? acceptAsAgent(await response.text()) : [];
    };
    const a = { dest: "10.42.0.0/24", gw: pkOf(1), groups: ["ALL"] };
    const b = { dest: "10.42.1.0/24", gw: pkOf(2), groups: ["ALL"] };
    await site.until("one entry", async () => Bun.deepEquals(await entries(), [a]));
    await site.node("pub-b", ["10.42.1.0/24"]);
    await site.until("two entries", async () => Bun.deepEquals(await entries(), [a, b]));
    const answers = await Promise.all([one, two].map(({ servedPort }) => get(servedPort)));
    const [etag, other] = answers.map(({ headers }) => headers.get("etag"));
    expect(other).toBe(etag ?? "");
    expect((await get(two.servedPort, { "if-none-match": etag ?? "" })).status).toBe(304);

    const version = async () => (await site.objects.get(resources.secret, outputName))?.metadata.resourceVersion;
    const before = await version();
    await requestsWithin(site, (await leads(one)) ? one : two, 3);
    expect(await version()).toBe(before ?? "");

    const edited = btoa("edited = 1\n");
    await site.objects.patch(resources.secret, outputName, { data: { "network.toml": edited } });
    await site.until("the hand edit is repaired, and never served", async () => {
      expect(await entries()).toEqual([a, b]);
      return (await site.objects.get(resources.secret, outputName))?.data?.["network.toml"] !== edited;
    });

    await Bun.write(file.path, makeBase(["pub-a", "pub-a"]));
    await site.until("an Event on the Secret", async () => {
      const { items } = await site.plane.api.request<{
        items: (Live & { reason: string; regarding: { name: string } })[];
      }>(resourcePath(builtIn.event, { namespace: site.namespace }));
      return items.some(({ reason, regarding }) => reason === "NetworkInvalid" && regarding.name === outputName);
    });
    expect(await entries()).toEqual([a, b]);
    expect(one.notReady()).toBeUndefined();

    await Bun.write(file.path, makeBase(["pub-a", "pub-b", "pub-c"]));
    await site.removeNode("pub-b");
    await site.until("one entry less", async () => Bun.deepEquals(await entries(), [a]));
  }, 90_000);
});

test("what is published outlives an upgrade of the chart, which never wrote it", async () => {
  await using site = await startPublishSite("chart");
  const { plane, namespace } = site;
  const chart = join(import.meta.dir, "../../chart");
  const set = ["crds.install=false", "operator.replicas=0", "publish.enabled=true", "publish.provider=netsody"].concat([
    "publish.existingSecret=login",
    "publish.netsody.base.name=base",
    "fullnameOverride=mesh",
  ]);
  const upgrade = (...more: string[]) => {
    const values = [...set, ...more].flatMap((value) => ["--set", value]);
    return plane.helm(["upgrade", "--install", "mesh", chart, "--namespace", namespace, ...values]);
  };
  await upgrade();
  const published = { "network.toml": btoa("network = 1\n") };
  await site.objects.patch(resources.secret, outputName, { data: published });
  await upgrade("publish.replicas=1", "commonLabels.team=red");
  const secret = await site.objects.get(resources.secret, outputName);
  expect([secret?.data, secret?.metadata.labels?.team]).toEqual([published, "red"]);
  await plane.helm(["uninstall", "mesh", "--namespace", namespace]);
}, 90_000);

async function leads({ metrics }: ReturnType<typeof start>): Promise<boolean> {
  return (await metrics.leader.get()).values[0]?.value === 1;
}
