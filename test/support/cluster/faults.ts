/** What goes wrong in real clusters, caused on purpose. */
import { rm } from "node:fs/promises";
import { run as runCommand } from "./command.ts";
import type { RunProcess } from "./daemon.ts";
import { inNamespace, nft, setLink } from "./network.ts";
import type { NodePlan } from "./node-plan.ts";
import type { Run } from "./run-folder.ts";
import { killRunProcesses, unmountBelow } from "./sweep.ts";

export interface BlackHole {
  /** Which packets vanish, seen from the node. Default both. */
  readonly direction?: "in" | "out" | "both";
  /** Only packets from and to this other node and its pods; default: everything on the uplink, the API server too. */
  readonly peer?: string;
}

export interface Fault extends AsyncDisposable {
  heal(): Promise<void>;
}

let holes = 0;

/** Packets vanish without a trace at the node's uplink: no reset, no ICMP, the link stays up. */
export async function blackHole(node: NodePlan, hole: BlackHole, peer: NodePlan | undefined): Promise<Fault> {
  holes += 1;
  const table = `hole_${process.pid}_${holes}`;
  const direction = hole.direction ?? "both";
  const hook = (way: "in" | "out"): string => {
    const match =
      peer === undefined ? "" : `ip ${way === "in" ? "saddr" : "daddr"} { ${peer.address}, ${peer.podCidr} }`;
    const name = way === "in" ? "ingress" : "egress";
    return `chain ${name}_drop { type filter hook ${name} device eth0 priority 0; ${match} counter drop; }`;
  };
  const ways = direction === "both" ? (["in", "out"] as const) : [direction];
  await nft(node, `table netdev ${table} {\n${ways.map(hook).join("\n")}\n}`);
  let isHealed = false;
  const heal = async (): Promise<void> => {
    if (isHealed) return;
    isHealed = true;
    await nft(node, `delete table netdev ${table}`);
  };
  return { heal, [Symbol.asyncDispose]: heal };
}

/** The link goes first, so that nobody hears a dying connection; then everything on the node is gone at once. */
export async function powerOff(run: Run, node: NodePlan): Promise<void> {
  await setLink(node, "down");
  await killRunProcesses(run, (process: RunProcess) => process.daemon.endsWith(`@${node.name}`));
  await unmountBelow(node.folder);
  await rm(node.volatileFolder, { recursive: true, force: true });
  // As after a boot: no translation, no remembered connection. The node's firewall is part of its setup and stays.
  const tables = await runCommand(inNamespace(node, ["nft", "list", "tables"]));
  const stale = tables.split("\n").filter((line) => line.endsWith(" kube-proxy"));
  if (stale.length > 0) await nft(node, stale.map((line) => `delete ${line}`).join("\n"));
  await runCommand(inNamespace(node, ["conntrack", "--flush"]));
}
