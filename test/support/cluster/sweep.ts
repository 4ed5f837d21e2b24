/**
 * Takes a run away, whoever started it and however far it came: only processes that carry its mark (and what runs below
 * its shims), only mounts below its folder, only its own namespaces and bridge.
 */
import { rm } from "node:fs/promises";
import { killProcesses, runProcesses } from "./daemon.ts";
import { isAbandoned, listRuns, type Run } from "./run-folder.ts";

/** Safe to call again, also after it failed half-way. */
export async function sweepRun(run: Run): Promise<void> {
  const processes = await runProcesses(run);
  await killProcesses(processes.map((each) => each.pid));
  await rm(run.folder, { recursive: true, force: true });
}

/** Takes away the runs whose owner died without doing it. */
export async function sweepAbandoned(): Promise<void> {
  for (const run of await listRuns()) {
    if (await isAbandoned(run)) await sweepRun(run);
  }
}
