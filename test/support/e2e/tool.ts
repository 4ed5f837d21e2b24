/** The executable as a person runs it on a cluster. */
import { join } from "node:path";
import type { Cluster } from "../cluster/index.ts";
import { root } from "./images.ts";

export interface Tool {
  /** All of standard output, which may end before the command does. */
  readonly printed: Promise<string>;
  /** Resolves when it has ended with 0, and rejects with what it said otherwise. */
  readonly done: Promise<void>;
}

/** Starts `netaminity ARGS` with the rights of an administrator; it is killed after `deadline` milliseconds. */
export function startTool(cluster: Cluster, args: readonly string[], deadline = 150_000): Tool {
  const child = Bun.spawn([join(root, "dist/netaminity"), ...args], {
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", KUBECONFIG: cluster.kubeconfig },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: deadline,
    killSignal: "SIGKILL",
  });
  const said = child.stderr.text();
  const ended = async () => {
    const code = await child.exited;
    if (code !== 0)
      throw new Error(`netaminity ${args.join(" ")} ended with ${child.signalCode ?? code}:\n${await said}`);
  };
  return { printed: child.stdout.text(), done: ended() };
}
