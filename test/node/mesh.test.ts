import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { meshTable } from "../../src/node/names.ts";
import { run } from "../support/cluster/command.ts";
import { type KeptNodes, keepNodes } from "../support/node-kept.ts";
import { addressesOf, type Lab, openLab } from "../support/node-lab.ts";

setDefaultTimeout(60_000);

const at = addressesOf.ip;

/** As the mesh checks sources: what begins a connection over it has the node's own address, or is dropped. */
const sourceCheck = (node: "one" | "two") => `table ip mesh {
  chain leaving { type filter hook postrouting priority 200; oifname "eth0" ct state new ip saddr != ${at[node]} counter drop; }
}`;

describe.each([
  ["without", undefined, "nothing", "nothing"],
  ["with", { interfaces: ["eth0", "netsody"], all: false }, at.two, "nothing"],
  ["with masquerading of everything", { interfaces: ["eth0"], all: true }, at.two, at.two],
] as const)("%s masquerading into the mesh", (_, mesh, podToPod, podToNode) => {
  let lab: Lab;
  let nodes: KeptNodes;
  beforeAll(async () => {
    lab = await openLab("ip");
    // Only what the mesh lets through counts here, so without the network plugin's masquerading.
    for (const node of ["one", "two"] as const) {
      await run([...lab.on(node), "nft", "-f", "-"], { input: `delete table ip cluster\n${sourceCheck(node)}` });
    }
    nodes = keepNodes(lab, "ip", mesh);
    if (mesh !== undefined) await masquerades();
  });
  afterAll(async () => {
    await nodes?.[Symbol.asyncDispose]();
    await lab?.[Symbol.asyncDispose]();
  });

  /** Waits for the table on both nodes. */
  async function masquerades(): Promise<void> {
    const end = performance.now() + 10_000;
    for (const node of [nodes.one, nodes.two]) {
      while ((await node.nft.read("ip", meshTable)) === undefined) {
        if (performance.now() > end) throw new Error("there is no table");
        await Bun.sleep(20);
      }
    }
  }
  const seen = async (to: string) => await lab.tell.c("tcp", { to, port: 80 }).catch(() => "nothing");

  test("a pod reaches a pod elsewhere", async () => {
    expect(await seen(at.a)).toBe(podToPod);
  });

  test("a pod reaches a node elsewhere with its own address, or as it is told", async () => {
    expect(await seen(at.one)).toBe(podToNode);
    // Where the mesh lets it, the node sees the pod itself.
    await run([...lab.on("two"), "nft", "flush", "chain", "ip", "mesh", "leaving"]);
    expect(await seen(at.one)).toBe(podToNode === "nothing" ? at.c : podToNode);
    await run([...lab.on("two"), "nft", "-f", "-"], { input: `delete table ip mesh\n${sourceCheck("two")}` });
  });

  test("the same after the interface was made anew", async () => {
    if (mesh === undefined) return;
    await run([...lab.on("wire"), "ip", "link", "del", "w-two"]);
    const lines = [
      `link add w-two type veth peer name eth0 netns ${lab.on("two")[1]?.split("/").at(-1)}`,
      "link set w-two master br0 up",
    ];
    await run([...lab.on("wire"), "ip", "-batch", "-"], { input: `${lines.join("\n")}\n` });
    const inside = [`addr add ${at.two}/24 dev eth0`, "link set eth0 up", `route add 10.244.1.0/24 via ${at.one}`];
    await run([...lab.on("two"), "ip", "-batch", "-"], { input: `${inside.join("\n")}\n` });
    expect(await seen(at.a)).toBe(podToPod);
  });
});
