/**
 * Long-lived processes of a run. They outlive the process that starts them (`scripts/cluster up` ends at once), so each
 * carries its run and its name in its environment: whoever cleans up later finds exactly the run's own processes and
 * what those started (containerd's shims inherit it), by process id, with no risk of a reused one.
 */
import { closeSync, openSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Run } from "./run-folder.ts";
import { waitFor } from "./wait.ts";

const runVariable = "NETAMINITY_CLUSTER_RUN";
const daemonVariable = "NETAMINITY_CLUSTER_DAEMON";
const startDeadline = 90_000;

export interface Daemon {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
}

/** Starts a program whose output goes to `logs/NAME.log` in the run's folder (appended when it is started again). */
export async function startDaemon(
  run: Run,
  name: string,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Daemon> {
  await mkdir(join(run.folder, "logs"), { recursive: true });
  const logFile = join(run.folder, "logs", `${name}.log`);
  const log = openSync(logFile, "a");
  try {
    const child = Bun.spawn([...command], {
      stdin: "ignore",
      stdout: log,
      stderr: log,
      detached: true,
      cwd: run.folder,
      env: {
        PATH: process.env.PATH ?? "",
        HOME: run.folder,
        ...env,
        [runVariable]: run.folder,
        [daemonVariable]: name,
      },
    });
    child.unref();
    return { name, pid: child.pid, logFile };
  } finally {
    closeSync(log);
  }
}

export interface RunProcess {
  readonly pid: number;
  readonly parent: number;
  /** Name of the daemon it is, or descends from. */
  readonly daemon: string;
  /** Short name of the executable, as in /proc/PID/comm. */
  readonly executable: string;
}

/** All living processes that carry the run's mark, whoever started them. */
export async function runProcesses(run: Run): Promise<RunProcess[]> {
  const found: RunProcess[] = [];
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const environment = await readFile(`/proc/${entry}/environ`, "utf8").catch(() => "");
    const variables = environment.split("\0");
    if (!variables.includes(`${runVariable}=${run.folder}`)) continue;
    const status = await processStatus(Number(entry));
    if (status === undefined) continue;
    const mark = variables.find((variable) => variable.startsWith(`${daemonVariable}=`));
    found.push({ pid: Number(entry), daemon: mark?.slice(daemonVariable.length + 1) ?? "", ...status });
  }
  return found;
}

/** Parent and executable of a process; undefined when it is gone or only waits to be reaped. */
async function processStatus(pid: number): Promise<{ parent: number; executable: string } | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (stat === undefined) return undefined;
  const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (state === "Z" || state === "X" || parent === undefined) return undefined;
  return { parent: Number(parent), executable: stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")) };
}

/** The processes below `roots` in the tree of processes, children before their parents' siblings, roots left out. */
export async function descendants(roots: ReadonlySet<number>): Promise<number[]> {
  const children = new Map<number, number[]>();
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const status = await processStatus(Number(entry));
    if (status !== undefined) children.set(status.parent, [...(children.get(status.parent) ?? []), Number(entry)]);
  }
  const found: number[] = [];
  const queue = [...roots];
  for (let pid = queue.shift(); pid !== undefined; pid = queue.shift()) {
    const below = children.get(pid) ?? [];
    found.push(...below);
    queue.push(...below);
  }
  return found;
}

/** Kills processes hard and waits until they are gone. The kube-apiserver would take a minute to stop softly. */
export async function killProcesses(pids: readonly number[]): Promise<void> {
  for (const pid of pids) sendSignal(pid, "SIGKILL");
  for (const pid of pids) {
    await waitFor(`end of process ${pid}`, { deadline: 10_000, interval: 5 }, async () => {
      return (await processStatus(pid)) === undefined ? true : undefined;
    });
  }
}

/** Sends a signal; a process that is gone already is fine. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** The end of a daemon's log, for error messages. */
async function logTail(daemon: Daemon, characters = 3000): Promise<string> {
  const text = await readFile(daemon.logFile, "utf8").catch(() => "");
  return text.slice(-characters);
}

/** Waits for a probe to give something else than false; fails at once, with the log, when the program has ended. */
export async function untilUp(what: string, daemon: Daemon, probe: () => Promise<unknown>): Promise<void> {
  try {
    const state = await waitFor(what, { deadline: startDeadline }, async () => {
      if ((await processStatus(daemon.pid)) === undefined) return "ended" as const;
      return (await probe()) === false ? undefined : ("up" as const);
    });
    if (state === "ended") throw new Error(`${daemon.name} ended`);
  } catch (error) {
    throw new Error(`${what}:\n${await logTail(daemon)}`, { cause: error });
  }
}
