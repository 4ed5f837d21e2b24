/** A target that no operator made: on a machine of the private network that is no part of Kubernetes. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { groupVersion } from "../../src/names.ts";
import { environmentLabel } from "../support/cluster/node-config.ts";
import { buildPeer, root } from "../support/e2e/images.ts";
import { harm, unharmed } from "../support/e2e/measure.ts";
import { tunnelNamespace } from "../support/e2e/peers.ts";
import { type Program, startProgram } from "../support/e2e/program.ts";
import type { Site } from "../support/e2e/site.ts";

const namespace = tunnelNamespace;
const name = "by-hand";

export function byHand(siteNow: () => Site): void {
  test("netaminity target, run by hand outside of Kubernetes, serves a Proxy of the cluster", async () => {
    const site = siteNow();
    const { cluster, kinds } = site;
    const secret = crypto.randomUUID();
    await cluster.apply(objects(secret));
    const { status } = await kinds.until("proxy", name, { Ready: "True" });

    const start = async (command: readonly string[], env: Record<string, string> = {}): Promise<Program> =>
      startProgram(cluster.commandIn("private-1", command), env);
    await using _backend = await start([await buildPeer(), "backend"]);
    const flags = ["--endpoint", "127.0.0.1:8080", "--health-listen", "127.0.0.1:0", "--log-format", "json"];
    await using target = await start(
      [join(root, "dist/netaminity"), "target", "--proxy-endpoint", `${status?.proxyEndpoint}`, ...flags],
      { NETAMINITY_SECRET: secret },
    );
    await target.said("session up");
    await kinds.until("proxy", name, { Connected: "True" });

    const consumer = await site.consumerOn("cloud-2");
    const address = `${name}.${namespace}.svc:80`;
    await consumer.untilServed(address);
    await using load = await consumer.startLoad({ address });
    const impact = await load.stop(0);
    expect(harm(impact)).toEqual(unharmed);
    expect(await target.stop()).toBe(0);
    await kinds.until("proxy", name, { Connected: "False" });
    await kinds.remove("proxy", name);
  }, 120_000);
}

const objects = (secret: string): object[] => [
  {
    ...{ apiVersion: "v1", kind: "Secret", metadata: { name, namespace } },
    stringData: { secret },
  },
  {
    ...{ apiVersion: groupVersion, kind: "Proxy", metadata: { name, namespace } },
    spec: {
      secretRef: { name },
      service: { name, port: 80 },
      proxyService: { type: "NodePort" },
      podTemplate: { nodeSelector: { [environmentLabel]: "cloud" } },
    },
  },
];
