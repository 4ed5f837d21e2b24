/** What fails, while consumers are at work on the Tunnel with one pair. */
import { beforeEach, describe, expect, test } from "bun:test";
import type { CoreV1EventList, V1ContainerStatus, V1Pod } from "@kubernetes/client-node";
import { ApiError } from "../support/cluster/api-client.ts";
import { type Fault, waitFor } from "../support/cluster/index.ts";
import type { Impact } from "../support/e2e/impact.ts";
import { nodeOf, podName } from "../support/e2e/kinds.ts";
import { addRow, harm, measure, unharmed } from "../support/e2e/measure.ts";
import { leadFrom } from "../support/e2e/operator.ts";
import { tunnelNamespace } from "../support/e2e/peers.ts";
import { otherCloudNode, type Site } from "../support/e2e/site.ts";
import { echoAddress } from "./tunnels.ts";

const namespace = tunnelNamespace;
const second = 1000;

export function failover(siteNow: () => Site): void {
  describe("failover under load", () => {
    let site: Site;

    beforeEach(async () => {
      site = siteNow();
      await untilWhole(site);
    }, 90_000);

    /** Causes a fault where the active proxy pod runs, seen by the consumer on the other cloud node. */
    const atActiveNode = async (
      name: string,
      goal: number,
      cause: (node: string, pod: string) => Promise<unknown>,
    ): Promise<Impact> => {
      const active = await site.kinds.activePod("echo-0");
      const node = nodeOf(active);
      const consumer = await site.consumerOn(otherCloudNode(node));
      return measure(site, { name, goal, consumer, address: echoAddress }, () => cause(node, podName(active)));
    };

    test("the proxy's agent is killed", async () => {
      const impact = await atActiveNode("proxy agent killed", 2 * second, (_, pod) => killAgent(site, pod));
      expect(impact.corrupt).toBe(0);
    }, 120_000);

    test("the target's agent is killed", async () => {
      const [target] = await site.kinds.pods("target", "echo-0");
      if (target === undefined) throw new Error("no target pod");
      const impact = await atActiveNode("target agent killed", 2 * second, () => killAgent(site, podName(target)));
      expect(impact.corrupt).toBe(0);
    }, 120_000);

    test("the active proxy pod is deleted", async () => {
      const impact = await atActiveNode("proxy pod deleted", 3 * second, (_, pod) => deletePod(site, pod));
      expect(impact.corrupt).toBe(0);
    }, 120_000);

    test("the target pod is deleted", async () => {
      const [target] = await site.kinds.pods("target", "echo-0");
      if (target === undefined) throw new Error("no target pod");
      const impact = await atActiveNode("target pod deleted", 3 * second, () => deletePod(site, podName(target)));
      expect(impact.corrupt).toBe(0);
    }, 120_000);

    test("the node of the active proxy pod is drained", async () => {
      let from: string | undefined;
      let impact: Impact;
      try {
        impact = await atActiveNode("node drained", 3 * second, async (node) => {
          from = node;
          await site.cluster.drain(node, 90_000);
        });
      } finally {
        if (from !== undefined) await site.cluster.uncordon(from);
      }
      expect(impact.corrupt).toBe(0);
    }, 180_000);

    test("the node of the active proxy pod and of the leading operator is powered off", async () => {
      let lost = "";
      try {
        // The hardest case: the operator that has to act is lost along with the pod.
        await leadFrom(site.cluster, nodeOf(await site.kinds.activePod("echo-0")));
        const impact = await atActiveNode("node powered off, the leading operator too", 5 * second, async (node) => {
          lost = node;
          await site.cluster.powerOff(node);
        });
        expect(impact.corrupt).toBe(0);
      } finally {
        if (lost !== "") await site.cluster.powerOn(lost);
      }
    }, 180_000);

    for (const direction of ["both", "in", "out"] as const) {
      const what = { both: "both directions", in: "towards the node", out: "from the node" }[direction];
      test(`the link of the active proxy pod's node swallows packets: ${what}`, async () => {
        let fault: Fault | undefined;
        try {
          // The leading operator is on the other side of the hole.
          await leadFrom(site.cluster, otherCloudNode(nodeOf(await site.kinds.activePod("echo-0"))));
          const name = `node's link black-holed, ${what}`;
          const impact = await atActiveNode(name, 5 * second, async (node) => {
            fault = await site.cluster.blackHole(node, { direction });
          });
          expect(impact.corrupt).toBe(0);
        } finally {
          await fault?.heal();
        }
      }, 180_000);
    }

    test("the private node's link swallows packets for 10 s", async () => {
      const consumer = await site.consumerOn("cloud-1");
      await using load = await consumer.startLoad({ address: echoAddress });
      const fault = await site.cluster.blackHole("private-1");
      // The fault itself is what lasts: longer than the deadline after which both ends give their session up.
      await Bun.sleep(10 * second);
      const healed = Date.now();
      await fault.heal();
      await load.calm();
      const impact = await load.stop(healed);
      addRow(site, { scenario: "private link back after 10 s", impact, goal: 10 * second });
      expect(impact.corrupt).toBe(0);
    }, 180_000);

    test("nobody notices that the API server is down", async () => {
      const impact = await atActiveNode("API server down for 10 s", 0, async () => {
        // Without its lease it ends too. One that went on would take the nodes, unheard of for so long, for lost.
        await site.cluster.stopController("kube-controller-manager");
        await site.cluster.stopApiServer();
        await Bun.sleep(10 * second);
        await site.cluster.startApiServer();
        await site.cluster.startController("kube-controller-manager");
      });
      expect(harm(impact)).toEqual(unharmed);
    }, 180_000);

    test("nobody notices that the operator is down", async () => {
      const scale = (replicas: number): Promise<string> =>
        site.cluster.kubectl(["scale", "-n", "netaminity-system", "deployment/netaminity", `--replicas=${replicas}`]);
      const impact = await atActiveNode("operator down for 10 s", 0, async () => {
        await scale(0);
        await Bun.sleep(10 * second);
        await scale(2);
      });
      expect(harm(impact)).toEqual(unharmed);
    }, 180_000);

    test("a standby is not called unhealthy again and again", async () => {
      const active = podName(await site.kinds.activePod("echo-0"));
      const standby = await waitFor("a standby that has run for a while", { deadline: 60_000 }, async () => {
        const pods = await site.kinds.pods("proxy", "echo-0");
        return pods.find((pod) => podName(pod) !== active && Date.now() - startOf(pod) > 20 * second && !wasReady(pod));
      });
      const selector = `involvedObject.name=${podName(standby)},reason=Unhealthy`;
      const { items } = await site.cluster.api.request<CoreV1EventList>(
        `/api/v1/namespaces/${namespace}/events?fieldSelector=${encodeURIComponent(selector)}`,
      );
      // Before its agent listened.
      expect(items.reduce((sum, { count = 1 }) => sum + count, 0)).toBeLessThanOrEqual(3);
    }, 90_000);
  });
}

const agentOf = ({ status }: V1Pod) => status?.containerStatuses?.[0];
const startOf = (pod: V1Pod): number => Date.parse(`${agentOf(pod)?.state?.running?.startedAt ?? ""}`);
/** It has had a session at some time, and is asked every second since. */
const wasReady = (pod: V1Pod): boolean => agentOf(pod)?.started === true;

/** Nodes, Tunnel and standby as they were before anything failed. */
async function untilWhole(site: Site): Promise<void> {
  const { cluster, kinds } = site;
  for (const { name } of cluster.nodes) await cluster.untilNodeIs(name, "Ready");
  await waitFor("an active proxy pod and a standby on different nodes", { deadline: 60_000 }, async () => {
    await kinds.until("tunnel", "echo", { Ready: "True", Updated: "True" });
    await kinds.untilLive("echo-0", 2);
    const pods = await kinds.pods("proxy", "echo-0");
    // A node that has booted reports its pods as they were, for a while.
    if (!(await Promise.all(pods.map((pod) => answers(site, pod)))).every(Boolean)) return false;
    if (new Set(pods.map(nodeOf)).size === 2) return true;
    // Nothing moves a pod back after a drain: preferences count only when a pod is placed.
    const active = podName(await kinds.activePod("echo-0"));
    const standby = pods.map(podName).find((name) => name !== active);
    if (standby !== undefined) await deletePod(site, standby);
    return false;
  });
}

async function answers(site: Site, { status }: V1Pod): Promise<boolean> {
  const consumer = await site.consumerOn("cloud-1");
  const { status: code } = await consumer.request({ url: `http://${status?.podIP}:8080/healthz`, timeout: 1000 });
  return code === 200;
}

/** Kills the agent and waits until its kubelet has started it again, or the operator has removed the pod, since Kubernetes sent consumers there still. */
async function killAgent({ cluster }: Site, pod: string): Promise<void> {
  const status = async (): Promise<V1ContainerStatus | "gone" | undefined> => {
    try {
      return (await cluster.pods.get({ namespace, pod })).status?.containerStatuses?.[0];
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return "gone";
      throw error;
    }
  };
  const before = await status();
  const restarts = before === "gone" ? 0 : (before?.restartCount ?? 0);
  await cluster.pods.kill({ namespace, pod });
  await waitFor(`pod ${pod} runs again`, { deadline: 60_000 }, async () => {
    const now = await status();
    if (now === undefined || now === "gone") return now === "gone";
    return now.restartCount > restarts && now.state?.running !== undefined;
  });
}

/** Deletes a pod and waits until it is gone. */
async function deletePod({ cluster }: Site, pod: string): Promise<void> {
  await cluster.kubectl(["delete", "pod", "--namespace", namespace, pod, "--timeout=60s"], { timeout: 65_000 });
}
