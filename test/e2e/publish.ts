/** The optional role as the chart installs it, while Nodes come and go and the mesh fails every third request. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { waitFor } from "../support/cluster/index.ts";
import { productImage, root } from "../support/e2e/images.ts";
import { restricted, type Site } from "../support/e2e/site.ts";
import { makeRule } from "../support/mesh.ts";
import { type ScriptedNetmaker, startNetmaker } from "../support/netmaker.ts";

const namespace = "mesh";
const secret = {
  ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "mesh-login", namespace } },
  stringData: { username: "netaminity", password: "correct horse" },
};
/** Of people and of another cluster, one of them about a Node that is here too. */
const foreign = [
  makeRule({ id: "office", description: "office", range: "192.168.0.0/16", nat: true }),
  makeRule({ id: "other", description: "netaminity/other node=extra-0 index=0 (do not edit)" }),
  makeRule({ id: "kaput-not", description: "Managed by kaput-not (DO NOT EDIT): index=0" }),
];

export function publish(siteNow: () => Site): void {
  describe("pod CIDRs in a mesh", () => {
    let site: Site;
    let netmaker: ScriptedNetmaker;
    const extra = new Map<string, string>();

    beforeAll(async () => {
      site = siteNow();
      const { cluster } = site;
      netmaker = await startNetmaker(undefined, cluster.addresses.bridge);
      for (const rule of foreign) netmaker.rules.set(rule.id, rule);
      await cluster.createNamespace(namespace, restricted);
      await cluster.apply([secret]);
      const image = { ...productImage, pullPolicy: "Never" };
      const values = {
        crds: { install: false },
        // Another release makes the tunnels.
        operator: { replicas: 0, image },
        networkPolicy: { enabled: true, apiServerPorts: [443, 6443, 26443] },
        publish: {
          ...{ enabled: true, provider: "netmaker", existingSecret: "mesh-login", clusterName: "e2e", interval: "5s" },
          netmaker: { url: netmaker.url },
          meshPorts: [Number(new URL(netmaker.url).port)],
        },
      };
      const file = join(cluster.run.folder, "publish-values.json");
      await Bun.write(file, JSON.stringify(values));
      const flags = ["--namespace", namespace, "--values", file, "--wait", "--timeout", "90s"];
      await cluster.helm(["upgrade", "--install", "mesh", join(root, "chart"), ...flags], { timeout: 100_000 });
    }, 120_000);

    afterAll(async () => {
      for (const name of [...extra.keys()]) await remove(name);
      await site.cluster.helm(["uninstall", "mesh", "--namespace", namespace]);
      await netmaker[Symbol.asyncDispose]();
    }, 60_000);

    const remove = async (name: string) => {
      extra.delete(name);
      await site.cluster.api.request(`/api/v1/nodes/${name}`, { method: "DELETE" });
    };
    /** A Node that nobody runs, and that no pod may be put on. */
    const add = async (name: string, podCIDR: string) => {
      const spec = {
        podCIDR,
        podCIDRs: [podCIDR],
        taints: [{ key: "test", effect: "NoExecute" }],
        unschedulable: true,
      };
      const body = { apiVersion: "v1", kind: "Node", metadata: { name }, spec };
      await site.cluster.api.request("/api/v1/nodes", { body });
      extra.set(name, podCIDR);
    };
    const published = () =>
      new Map(
        [...netmaker.rules.values()].flatMap(({ description, range }): [string, string][] => {
          const name = /^netaminity\/e2e node=(extra-\d+) /.exec(description)?.[1];
          return name === undefined ? [] : [[name, range]];
        }),
      );
    const untilPublished = (what: string) =>
      waitFor(what, { deadline: 60_000 }, async () => {
        const now = published();
        return now.size === extra.size && [...extra].every(([name, range]) => now.get(name) === range);
      });

    test("follow Nodes that come, go and change while every third request fails, and rest when they do", async () => {
      let requests = 0;
      netmaker.fault = () => {
        requests += 1;
        if (requests % 3 !== 0) return undefined;
        return requests % 2 === 0 ? { code: 500 } : "drop-after";
      };
      for (let index = 0; index < 12; index += 1) {
        netmaker.join(`extra-${index}`);
        await add(`extra-${index}`, `10.250.${index}.0/24`);
      }
      await untilPublished("rules of new Nodes");
      for (let index = 0; index < 4; index += 1) {
        await remove(`extra-${index}`);
        await remove(`extra-${index + 4}`);
        await add(`extra-${index + 4}`, `10.251.${index}.0/24`);
        netmaker.join(`extra-${index + 8}`);
      }
      await untilPublished("rules of changed Nodes");
      netmaker.fault = undefined;
      netmaker.requests.length = 0;
      await untilRest();
      expect(foreign.map(({ id }) => JSON.stringify(netmaker.rules.get(id)))).toEqual(
        foreign.map((rule) => JSON.stringify(rule)),
      );
      // One rule for each Node, and none that a lost answer has left.
      expect(netmaker.rules.size).toBe(extra.size + foreign.length);
    }, 180_000);

    /** Two looks in a row that write nothing. */
    const untilRest = () =>
      waitFor("two passes without a write", { deadline: 60_000, interval: 200 }, async () => {
        const last = netmaker.requests.filter((request) => !request.includes("authenticate")).slice(-6);
        return last.length === 6 && last.every((request) => request.startsWith("GET"));
      });
  });
}
