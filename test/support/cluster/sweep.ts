/**
 * Takes a run away, whoever started it and however far it came: only processes that carry its mark (and what runs below
 * its shims), only mounts below its folder, only its own namespaces, links and bridge.
 */
import { readdir, readFile, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { run as runCommand } from "./command.ts";
import { descendants, killProcesses, type RunProcess, runProcesses } from "./daemon.ts";
import { bridgeName, cgroupName, namespacePrefix } from "./node-plan.ts";
import { isAbandoned, listRuns, type Run } from "./run-folder.ts";

/** A dying kubelet or containerd may have started one more helper while it was looked for. */
const killRounds = 10;
const cgroupFolder = "/sys/fs/cgroup";

/** Safe to call again, also after it failed half-way. */
export async function sweepRun(run: Run): Promise<void> {
  await killRunProcesses(run, () => true);
  await unmountBelow(run.folder);
  await removeNetwork(run);
  await removeCgroups(cgroupName(run));
  await rm(run.folder, { recursive: true, force: true });
}

/** Takes away the runs whose owner died without doing it. */
export async function sweepAbandoned(): Promise<void> {
  for (const run of await listRuns()) {
    if (await isAbandoned(run)) await sweepRun(run);
  }
}

/**
 * Kills the run's processes that `wanted` picks: first what makes new containers, then the containers, then containerd
 * and its shims.
 */
export async function killRunProcesses(run: Run, wanted: (process: RunProcess) => boolean): Promise<void> {
  for (let round = 0; round < killRounds; round++) {
    const processes = (await runProcesses(run)).filter(wanted);
    if (processes.length === 0) return;
    const isRuntime = (each: RunProcess): boolean => each.daemon.startsWith("containerd@");
    await killProcesses(pidsOf(processes.filter((each) => !isRuntime(each))));
    const shims = processes.filter((each) => each.executable.startsWith("containerd-shim"));
    const sockets = await shimSockets(run);
    await killProcesses(await descendants(new Set(pidsOf(shims))));
    await killProcesses(pidsOf(processes.filter((each) => isRuntime(each) && !shims.includes(each))));
    await killProcesses(pidsOf(shims));
    await Promise.all(sockets.map((socket) => rm(socket, { force: true })));
  }
  throw new Error(`cluster ${run.name}: processes come back after ${killRounds} rounds of killing`);
}

function pidsOf(processes: readonly RunProcess[]): number[] {
  return processes.map((each) => each.pid);
}

/** Shims listen outside the run's folder, and a killed one leaves its socket there. */
async function shimSockets(run: Run): Promise<string[]> {
  const sockets: string[] = [];
  for (const node of await listFolder(join(run.folder, "nodes"))) {
    const tasks = join(run.folder, "nodes", node, "run/containerd/io.containerd.runtime.v2.task/k8s.io");
    for (const task of await listFolder(tasks)) {
      const address = await readFile(join(tasks, task, "address"), "utf8").catch(() => "");
      if (address.startsWith("unix:///run/containerd/s/")) sockets.push(address.slice("unix://".length));
    }
  }
  return sockets;
}

async function listFolder(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

/** Unmounts what is mounted below a folder, the last mounted first. */
export async function unmountBelow(folder: string): Promise<void> {
  const mounts = await mountsBelow(folder);
  if (mounts.length === 0) return;
  // Lazily: a namespace that copied the mount while it was busy must not keep the folder alive.
  await unlessGone(["umount", "--lazy", ...mounts], async () => (await mountsBelow(folder)).length === 0);
}

async function mountsBelow(folder: string): Promise<string[]> {
  return (await readFile("/proc/self/mountinfo", "utf8"))
    .split("\n")
    .map((line) => (line.split(" ")[4] ?? "").replaceAll("\\040", " "))
    .filter((point) => point.startsWith(`${folder}/`))
    .reverse();
}

async function removeNetwork(run: Run): Promise<void> {
  const bridge = bridgeName(run);
  const links = (await listFolder("/sys/class/net")).filter((name) => name === bridge || name.startsWith(`${bridge}-`));
  for (const link of links.sort().reverse()) await removeListed("/sys/class/net", link, ["ip", "link", "del", link]);
  const namespaces = (await listFolder("/run/netns")).filter((name) => name.startsWith(namespacePrefix(run)));
  for (const name of namespaces) await removeListed("/run/netns", name, ["ip", "netns", "del", name]);
}

async function removeListed(folder: string, name: string, command: readonly string[]): Promise<void> {
  await unlessGone(command, async () => !(await listFolder(folder)).includes(name));
}

/** A thing may go by itself, or by another process that sweeps, between the look and the removal. */
async function unlessGone(command: readonly string[], isGone: () => Promise<boolean>): Promise<void> {
  try {
    await runCommand(command);
  } catch (error) {
    if (!(await isGone())) throw error;
  }
}

/** cgroup v2 has it directly below, v1 once below each controller. */
async function removeCgroups(name: string): Promise<void> {
  const controllers = await listFolder(cgroupFolder);
  for (const place of ["", ...controllers]) await removeTree(join(cgroupFolder, place, name));
}

/** Cgroups are folders whose files cannot be removed: only empty folders can, the deepest first. */
async function removeTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (entry.isDirectory()) await removeTree(join(folder, entry.name));
  }
  await rmdir(folder).catch(() => undefined);
}
