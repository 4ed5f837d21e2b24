import { describe, expect, test } from "bun:test";
import { builtIn, resourcePath } from "../../src/kube/resources.ts";
import { resources } from "../../src/operator/resources.ts";
import { startProcess } from "../support/process.ts";
import type { Live } from "./objects.ts";
import {
  kubeRequests,
  leaseName,
  outputName,
  type PublishSite,
  passesOf,
  requestsWithin,
  startPublishSite,
} from "./publish-site.ts";

const executable = new URL("../../dist/netaminity", import.meta.url).pathname;

const meshNode = ({ netmaker }: PublishSite, host: string, network = "net") =>
  netmaker.hosts.get(host)?.nodes.find((node) => node.network === network)?.id ?? "";

/** `REASON of NAME` of the Events in a namespace. */
async function eventsIn({ plane }: PublishSite, namespace: string): Promise<string[]> {
  const path = resourcePath(builtIn.event, { namespace });
  const { items } = await plane.api.request<{ items: (Live & { reason: string; regarding: { name: string } })[] }>(
    path,
  );
  return items.map(({ reason, regarding }) => `${reason} of ${regarding.name}`);
}

function startExecutable(site: PublishSite, ...args: string[]) {
  return startProcess([executable, "publish", ...args], {
    NETAMINITY_PROVIDER: "netmaker",
    NETAMINITY_CLUSTER_NAME: "test",
    NETAMINITY_HEALTH_LISTEN: "127.0.0.1:0",
    NETAMINITY_LEASE_NAME: leaseName,
    NETAMINITY_LOG_FORMAT: "json",
    NETMAKER_API_URL: site.netmaker.url,
    NETMAKER_USERNAME: "netaminity",
    NETMAKER_PASSWORD: "correct horse",
    KUBECONFIG: site.kubeconfig,
    POD_NAMESPACE: site.namespace,
  });
}

describe("pod CIDRs", () => {
  test("of both families are published when the Node has its host, and repaired, changed and taken away with it", async () => {
    await using site = await startPublishSite("life");
    const { netmaker } = site;
    netmaker.join("other", ["net"]);
    await site.node("pub-a", ["10.42.0.0/24", "fd00:42::/64"]);
    await site.node("pub-b");
    await using publisher = site.start();
    await site.until("Events on pending Nodes", async () => {
      const events = await eventsIn(site, "default");
      return events.includes("NoMeshHost of pub-a") && events.includes("NoPodCidr of pub-b");
    });
    expect(publisher.notReady()).toBeUndefined();
    netmaker.join("pub-a");
    const both = () => [`10.42.0.0/24 ${meshNode(site, "pub-a")}`, `fd00:42::/64 ${meshNode(site, "pub-a")}`];
    await site.until("both rules", () => Bun.deepEquals(site.rules(), both()));

    const [first] = netmaker.rules.values();
    if (first === undefined) throw new Error("no rule");
    netmaker.rules.set(first.id, { ...first, range: "10.99.0.0/24", nat: true });
    await site.until("the hand edit is repaired", () => netmaker.rules.get(first.id)?.nat === false);
    netmaker.rules.delete(first.id);
    await site.until("the deleted rule is back", () => Bun.deepEquals(site.rules(), both()));
    netmaker.join("pub-a");
    await site.until("the host that joined anew has them", () => Bun.deepEquals(site.rules(), both()));

    await site.node("pub-a", ["10.42.7.0/24"]);
    await site.until("one other rule", () => Bun.deepEquals(site.rules(), [`10.42.7.0/24 ${meshNode(site, "pub-a")}`]));
    await site.node("pub-c", ["10.42.8.0/24"]);
    netmaker.join("pub-c");
    await site.until("two Nodes", () => site.rules().length === 2);
    netmaker.fault = () => ({ code: 503 });
    await site.removeNode("pub-a");
    await site.until("passes fail", () => publisher.notReady()?.includes("503"));
    netmaker.fault = undefined;
    await site.until("what happened meanwhile is made up for", () =>
      Bun.deepEquals(site.rules(), [`10.42.8.0/24 ${meshNode(site, "pub-c")}`]),
    );
    expect(Object.keys(await kubeRequests(publisher)).filter((call) => / 4\d\d$/.test(call))).toEqual([
      "get leases 404",
    ]);
  }, 120_000);

  test("of two clusters on one network stay apart, under names that nobody had to give", async () => {
    await using site = await startPublishSite("clusters");
    const { netmaker } = site;
    netmaker.join("pub-a");
    await site.node("pub-a", ["10.42.0.0/24"]);
    await using _other = site.start({ clusterName: "other", lease: undefined });
    await using publisher = site.start({ clusterName: "" });
    await site.until("a rule of each", () => netmaker.rules.size === 2);
    const { metadata } = await site.plane.api.request<Live>("/api/v1/namespaces/kube-system");
    const owners = [...netmaker.rules.values()].map(({ description }) => description.split(" ")[0]).sort();
    expect(owners).toEqual([`netaminity/${metadata.uid.slice(0, 8)}`, "netaminity/other"].sort());
    const requests = await requestsWithin(site, publisher, 3);
    expect(requests.filter((request) => !request.startsWith("GET"))).toEqual([]);
  }, 60_000);
});

describe("two replicas", () => {
  test("of which one is killed in the middle of a pass leave each Node one rule", async () => {
    await using site = await startPublishSite("killed");
    const { netmaker } = site;
    const names = Array.from({ length: 12 }, (_, index) => `pub-${index}`);
    for (const [index, name] of names.entries()) {
      netmaker.join(name);
      await site.node(name, [`10.42.${index}.0/24`]);
    }
    // Some are carried out and their answers lost, and then nothing is answered any more.
    let posts = 0;
    netmaker.fault = (request) => {
      if (!request.startsWith("POST")) return undefined;
      posts += 1;
      return posts <= 3 ? undefined : posts <= 5 ? "drop-after" : "stall";
    };
    await using killed = startExecutable(site);
    await site.until("in the middle of a pass", () => posts > 5);
    await using publisher = site.start();
    expect((await publisher.metrics.leader.get()).values[0]?.value).toBe(0);
    expect(netmaker.rules.size).toBe(5);
    killed.signal("SIGKILL");
    netmaker.fault = undefined;
    const wanted = names.map((name, index) => `10.42.${index}.0/24 ${meshNode(site, name)}`).sort();
    await site.until("the other one has finished it", () => Bun.deepEquals(site.rules(), wanted));
    const requests = await requestsWithin(site, publisher, 2);
    expect(requests.filter((request) => !request.startsWith("GET"))).toEqual([]);
    expect(site.rules()).toEqual(wanted);
  }, 60_000);

  test("hand the lead over without a write, and duplicates that two leaders made go", async () => {
    await using site = await startPublishSite("handover");
    const { netmaker } = site;
    netmaker.join("pub-a");
    await site.node("pub-a", ["10.42.0.0/24"]);
    const first = site.start();
    await site.until("published", () => netmaker.rules.size === 1);
    await using second = site.start();
    await first.stop();
    const requests = await requestsWithin(site, second, 2);
    expect(requests.filter((request) => !request.startsWith("GET"))).toEqual(["POST /api/users/adm/authenticate"]);
    const [rule] = netmaker.rules.values();
    if (rule === undefined) throw new Error("no rule");
    netmaker.rules.set("zz", { ...rule, id: "zz" });
    await site.until("one is left", () => netmaker.rules.size === 1);
    expect([...netmaker.rules.keys()]).toEqual([rule.id]);
  }, 60_000);
});

describe("the executable", () => {
  test("publishes 2,000 Nodes in one pass with little memory, and asks four times when nothing has changed", async () => {
    await using site = await startPublishSite("many");
    const { netmaker } = site;
    const nodes = Array.from({ length: 2000 }, (_, index) => ({
      name: `pub-${index}`,
      cidr: `10.${100 + Math.floor(index / 250)}.${index % 250}.0/24`,
    }));
    for (let from = 0; from < nodes.length; from += 50) {
      await Promise.all(nodes.slice(from, from + 50).map(({ name, cidr }) => site.node(name, [cidr])));
    }
    for (const { name } of nodes) netmaker.join(name, name === "pub-0" ? ["net", "second"] : ["net"]);
    await using publisher = startExecutable(site, "--interval", "5s");
    const { fields } = await publisher.log.first("listening", {}, 20_000);
    const metrics = async () => await (await fetch(`http://${fields.health}/metrics`)).text();
    const value = (text: string, name: string) =>
      Number(
        text
          .split("\n")
          .find((line) => line.startsWith(`${name} `))
          ?.split(" ")[1],
      );
    await site.until("all are published", () => netmaker.rules.size === 2001, 60_000);
    expect(netmaker.requests.filter((request) => request.startsWith("GET"))).toHaveLength(4);
    const passes = 'netaminity_publish_passes_total{result="ok"}';
    const first = await site.until("one pass", async () => {
      const text = await metrics();
      return value(text, passes) >= 1 ? text : undefined;
    });
    netmaker.requests.length = 0;
    await site.until("two passes", async () => value(await metrics(), passes) >= 2);
    expect(netmaker.requests.toSorted()).toEqual([
      "GET /api/hosts",
      "GET /api/nodes",
      "GET /api/v1/egress",
      "GET /api/v1/egress",
    ]);
    const seconds = "netaminity_publish_pass_duration_seconds_sum";
    const mebibytes = publisher.memory() / 2 ** 20;
    const rest = value(await metrics(), seconds) - value(first ?? "", seconds);
    // Read by people: docs/publish.md has the figures.
    process.stdout.write(
      `2,000 Nodes: first pass ${value(first ?? "", seconds).toFixed(2)} s, at rest ${rest.toFixed(3)} s, ${mebibytes.toFixed(0)} MiB\n`,
    );
    expect(mebibytes).toBeLessThan(150);
  }, 180_000);

  test("says what it would do, does it once, and finds nothing left to do", async () => {
    await using site = await startPublishSite("check");
    const { netmaker } = site;
    netmaker.join("pub-a", ["net"], { endpoint: "10.42.0.9" });
    await site.node("pub-a", ["10.42.0.0/24"]);
    const run = async (...args: string[]) => {
      await using child = startExecutable(site, ...args);
      const code = await child.exited(30_000);
      return { code, text: child.log.lines.filter(({ level }) => level === "text").map(({ message }) => message) };
    };
    const warning =
      "warning: the host pub-a of the mesh has the endpoint 10.42.0.9, which is inside the pod CIDR 10.42.0.0/24: its peers may not reach it until it publishes another one";
    expect(await run("--check")).toEqual({
      code: 1,
      text: [
        "rules: 0 in place, 0 held, 0 refused, 0 of others",
        "would be written: 1",
        "  create 10.42.0.0/24 in net: pub-a pods (1/1)",
        warning,
      ],
    });
    expect(netmaker.writes()).toEqual([]);
    expect((await run("--once")).text).toContain("written: 1 created, 0 updated, 0 deleted");
    netmaker.join("pub-a");
    await run("--once");
    expect(await run("--check")).toEqual({
      code: 0,
      text: ["rules: 1 in place, 0 held, 0 refused, 0 of others", "nothing is to be written"],
    });
    netmaker.users.clear();
    expect((await run("--check")).code).toBe(1);
  }, 60_000);

  test("logs what it would write in a dry run, and writes nothing", async () => {
    await using site = await startPublishSite("dry");
    site.netmaker.join("pub-a");
    await site.node("pub-a", ["10.42.0.0/24"]);
    await using publisher = site.start({ dryRun: true });
    await site.until("two passes", async () => (await passesOf(publisher)) >= 2);
    expect(site.log.filter(({ message }) => message === "dry run").map(({ change }) => change)).toEqual([
      "create 10.42.0.0/24 in net: pub-a pods (1/1)",
    ]);
    expect(site.netmaker.writes()).toEqual([]);
    expect(await site.objects.names(resources.secret)).not.toContain(outputName);
  }, 60_000);
});
