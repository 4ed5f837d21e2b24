import { existsSync } from "node:fs";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "./tcp-wait.ts";
import type { Launcher } from "./tunnel-compiled.ts";

/** A memory cgroup of its own. Needs root. */
export interface Cgroup extends AsyncDisposable {
  /** Starts a command inside it. */
  readonly launch: Launcher;
  /** How many processes the kernel has killed in it for want of memory. */
  kills(): Promise<number>;
  members(): Promise<number[]>;
}

interface Layout {
  parent: string;
  limitFile: string;
  eventsFile: string;
}

/** Version 1 has a hierarchy for memory alone, version 2 one for everything. */
function layout(): Layout {
  const first = "/sys/fs/cgroup/memory";
  if (existsSync(join(first, "memory.limit_in_bytes"))) {
    return { parent: first, limitFile: "memory.limit_in_bytes", eventsFile: "memory.oom_control" };
  }
  return { parent: "/sys/fs/cgroup", limitFile: "memory.max", eventsFile: "memory.events" };
}

let made = 0;

export async function startCgroup(limit: number): Promise<Cgroup> {
  const { parent, limitFile, eventsFile } = layout();
  made += 1;
  const path = join(parent, `netaminity-test-${process.pid}-${made}`);
  if (parent === "/sys/fs/cgroup") await writeFile(join(parent, "cgroup.subtree_control"), "+memory");
  await mkdir(path);
  await writeFile(join(path, limitFile), String(limit));
  const members = async () =>
    (await readFile(join(path, "cgroup.procs"), "utf8"))
      .split("\n")
      .filter((line) => line !== "")
      .map(Number);
  return {
    launch: (command) => ["/bin/sh", "-c", `echo $$ > ${join(path, "cgroup.procs")}; exec "$@"`, "sh", ...command],
    members,
    kills: async () => {
      const events = await readFile(join(path, eventsFile), "utf8");
      const count = /^oom_kill (\d+)$/m.exec(events)?.[1];
      if (count === undefined) throw new Error(`no oom_kill in ${eventsFile}: ${events}`);
      return Number(count);
    },
    [Symbol.asyncDispose]: async () => {
      await eventually(async () => (await members()).length === 0, "the cgroup is empty");
      await rmdir(path);
    },
  };
}
