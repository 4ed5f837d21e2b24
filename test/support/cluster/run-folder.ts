/**
 * The folder of one run: everything that a control plane or cluster writes lies below it, and its number gives the
 * run's addresses. `/tmp/netaminity-clusters/3` is run 3; whoever creates that folder owns the number.
 */
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

const runsFolder = "/tmp/netaminity-clusters";
const maxRuns = 60;

export interface Run {
  readonly name: string;
  /** 0..59. Every address range of the run is made from it (see addresses.ts). */
  readonly index: number;
  readonly folder: string;
  /** The process whose end makes the run rubbish; absent for a run that `scripts/cluster up` left running. */
  readonly owner?: ProcessIdentity;
}

/** A process id alone can be used again by a stranger; with its start time it cannot. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of /proc/PID/stat: clock ticks from boot to the start of the process. */
  readonly startTime: string;
}

async function processIdentity(pid: number): Promise<ProcessIdentity | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The second field is the command in parentheses and may hold spaces: count from behind it.
    const startTime = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    return startTime === undefined ? undefined : { pid, startTime };
  } catch {
    return undefined;
  }
}

/** Takes the lowest free number. Throws when the name is in use or all numbers are taken. */
export async function claimRun(name: string, options: { readonly persistent: boolean }): Promise<Run> {
  if (!/^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/.test(name)) {
    throw new Error(`cluster name: ${JSON.stringify(name)} is not 1-32 of a-z, 0-9 and inner "-"`);
  }
  await mkdir(runsFolder, { recursive: true });
  // Shared by all users, as /tmp is; only the one who made it may say so.
  await chmod(runsFolder, 0o1777).catch(() => undefined);
  if ((await listRuns()).some((run) => run.name === name)) throw new Error(`cluster ${name} exists already`);
  const owner = options.persistent ? undefined : await processIdentity(process.pid);
  const prepared = await mkdtemp(join(runsFolder, ".new-"));
  for (let index = 0; index < maxRuns; index++) {
    const folder = join(runsFolder, String(index));
    const run: Run = { name, index, folder, ...(owner && { owner }) };
    await writeFile(join(prepared, "run.json"), JSON.stringify(run));
    try {
      // Renaming onto a folder that is not empty fails, so a number is taken together with its record or not at all.
      await rename(prepared, folder);
      return run;
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
  await rm(prepared, { recursive: true });
  throw new Error(`all ${maxRuns} cluster numbers are taken: see ${runsFolder}`);
}

function isTaken(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOTEMPTY" || error.code === "EEXIST");
}

/** All recorded runs, by number. */
export async function listRuns(): Promise<Run[]> {
  const names = await readdir(runsFolder).catch(() => []);
  const runs: Run[] = [];
  for (const name of names.filter((entry) => /^\d+$/.test(entry)).sort((a, b) => Number(a) - Number(b))) {
    const text = await readFile(join(runsFolder, name, "run.json"), "utf8").catch(() => undefined);
    if (text !== undefined) runs.push(JSON.parse(text) as Run);
  }
  return runs;
}

export async function findRun(name: string): Promise<Run | undefined> {
  return (await listRuns()).find((run) => run.name === name);
}

/** True when the process that owned the run is gone, so that nobody will ever stop it. */
export async function isAbandoned(run: Run): Promise<boolean> {
  if (run.owner === undefined) return false;
  const now = await processIdentity(run.owner.pid);
  return now?.startTime !== run.owner.startTime;
}
