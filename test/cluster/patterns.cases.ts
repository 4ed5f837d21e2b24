import { describe, expect, test } from "bun:test";
import { labels } from "../../src/names.ts";
import { resources } from "../../src/operator/resources.ts";
import { runPods } from "./kubelet.ts";
import { conditionOf, type Live } from "./objects.ts";
import { type Site, startSite } from "./site.ts";

const manifest = (name: string) => new URL(`patterns/${name}.yaml`, import.meta.url).pathname;

/** kubectl in the namespace of the site, as a user of the cluster types it. */
const kubectl = (site: Site, ...args: string[]) => site.plane.kubectl([...args, "-n", site.namespace]);

/** The table that `kubectl get` prints, without the columns of age. */
async function table(site: Site, kinds: string): Promise<string[]> {
  const text = await kubectl(site, "get", kinds);
  return text
    .trim()
    .split("\n")
    .map((line) =>
      line
        .replace(/ +/g, " ")
        .replace(/ (AGE|\d+[smh]\S*)$/, "")
        .trim(),
    )
    .filter((line) => line !== "");
}

describe("the documented patterns, applied with kubectl as written", () => {
  test("one cluster with a split network", async () => {
    await using site = await startSite("split", { settings: { proxyHost: "nodes.example.net" } });
    const { objects } = site;
    await using _pods = runPods(
      site.plane,
      objects,
      (pod) => pod.metadata.labels?.[labels.component] === "target" || isFirst(pod),
    );
    const first = new Set<string>();
    // Of the pods of each proxy only one carries the session, as in life.
    function isFirst(pod: Live) {
      const proxy = pod.metadata.labels?.[labels.proxy] ?? "";
      return !first.has(proxy) && first.add(proxy) !== undefined;
    }
    await kubectl(site, "apply", "-f", manifest("split-network"));
    await kubectl(site, "wait", "tunnel/private-api", "--for=condition=Ready=True", "--timeout=60s");
    await kubectl(site, "wait", "tunnel/private-api", "--for=condition=Updated=True", "--timeout=60s");

    const nodePorts = (await objects.list(resources.service)).map(({ metadata, spec }) => [
      metadata.name,
      spec.type,
      spec.ports[0].nodePort,
    ]);
    expect(nodePorts).toEqual([
      ["private-api", "ClusterIP", undefined],
      ["private-api-0-rendezvous", "NodePort", 31035],
      ["private-api-1-rendezvous", "NodePort", 31036],
    ]);
    const pods = (await objects.list(resources.pod)).map(({ metadata, spec }) => [
      metadata.labels?.[labels.component],
      metadata.labels?.[labels.index],
      spec.nodeSelector,
      spec.containers[0].resources.requests,
    ]);
    const environment = (value: string) => ({ "netaminity.exeteres.net/environment": value });
    const requests = { cpu: "10m", memory: "32Mi" };
    expect(pods.sort()).toEqual(
      [
        ["proxy", "0", environment("cloud"), requests],
        ["proxy", "0", environment("cloud"), requests],
        ["proxy", "1", environment("cloud"), requests],
        ["proxy", "1", environment("cloud"), requests],
        ["target", "0", environment("private"), requests],
        ["target", "1", environment("private"), requests],
      ].sort(),
    );
    const targets = await objects.list(resources.target);
    expect(targets.map(({ spec }) => spec.proxyEndpoint)).toEqual([
      "nodes.example.net:31035",
      "nodes.example.net:31036",
    ]);
    const consumers = `private-api.${site.namespace}.svc:30080`;
    const backend = "private-api.private.svc:8080";
    expect(await table(site, "tunnels")).toEqual([
      "NAME READY PAIRS WANTED CONSUMERS BACKEND REASON",
      `private-api True 2 2 ${consumers} ${backend} AllPairsReady`,
    ]);
    expect(await table(site, "proxies")).toEqual([
      "NAME READY CONNECTED ENDPOINT CONSUMERS REASON",
      "private-api-0 True True nodes.example.net:31035 Available",
      "private-api-1 True True nodes.example.net:31036 Available",
    ]);
    expect(await table(site, "targets")).toEqual([
      "NAME READY SESSIONS WANTED PROXY BACKEND REASON",
      `private-api-0 True 1 1 nodes.example.net:31035 ${backend} SessionUp`,
      `private-api-1 True 1 1 nodes.example.net:31036 ${backend} SessionUp`,
    ]);
    const described = await kubectl(site, "describe", "tunnel", "private-api");
    expect(described).toContain("AllPairsReady");
    expect(described).toContain("nodes.example.net:31036");
  }, 150_000);

  test("two clusters: the Proxy is Ready before a Target exists, and its endpoint is what the Target gets", async () => {
    await using reachable = await startSite("reachable");
    await using outbound = await startSite("outbound");
    const sites = [reachable, outbound];
    let hasSession = false;
    await using _proxyPods = runPods(reachable.plane, reachable.objects, () => hasSession);
    await using _targetPods = runPods(outbound.plane, outbound.objects, () => true);
    for (const site of sites) {
      await kubectl(
        site,
        "create",
        "secret",
        "generic",
        "private-api-tunnel",
        "--from-literal=secret=c2hhcmVkLXNlY3JldA==",
      );
    }
    await kubectl(reachable, "apply", "-f", manifest("reachable-cluster"));
    await reachable.until("load balancer pending", async () => {
      const proxy = await reachable.objects.get(resources.proxy, "private-api");
      return conditionOf(proxy) === "False EndpointPending" && proxy?.status.proxyEndpoint === undefined;
    });
    // The cloud's load balancer controller gives the Service its address.
    const ingress = { status: { loadBalancer: { ingress: [{ hostname: "proxy.example.net" }] } } };
    await reachable.objects.patch(resources.service, "private-api-rendezvous", ingress, "status");
    await kubectl(reachable, "wait", "proxy/private-api", "--for=condition=Ready=True", "--timeout=60s");
    const endpoint = await kubectl(reachable, "get", "proxy/private-api", "-o", "jsonpath={.status.proxyEndpoint}");
    expect(endpoint).toBe("proxy.example.net:7835");
    expect(conditionOf(await reachable.objects.get(resources.proxy, "private-api"), "Connected")).toBe(
      "False WaitingForTarget",
    );

    await kubectl(outbound, "apply", "-f", manifest("outbound-only-cluster"));
    await kubectl(outbound, "wait", "target/private-api", "--for=condition=Ready=True", "--timeout=60s");
    hasSession = true;
    const [active] = await reachable.objects.list(resources.pod);
    if (active === undefined) throw new Error("no proxy pod");
    const conditions = [{ type: "Ready", status: "True" }];
    await reachable.objects.patch(resources.pod, active.metadata.name, { status: { conditions } }, "status");
    await kubectl(reachable, "wait", "proxy/private-api", "--for=condition=Connected=True", "--timeout=60s");
  }, 150_000);

  test("kubectl explain reaches down to every field of an affinity", async () => {
    await using site = await startSite("explain");
    const explained = await site.until("published", () =>
      site.plane.kubectl(["explain", "tunnel.spec.proxy.podTemplate.affinity.podAntiAffinity"]),
    );
    expect(explained).toContain("preferredDuringSchedulingIgnoredDuringExecution");
  }, 60_000);
});
