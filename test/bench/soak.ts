import { join } from "node:path";
import type { Options } from "./options.ts";
import { runInForeground } from "./process.ts";
import { loopbackAddress } from "./site.ts";

/** Runs the soak (test/bench/soak) on `executable`; its report goes to standard output. Returns its exit code. */
export async function runSoak(soak: string, executable: string, options: Options, folder: string): Promise<number> {
  const flags = [
    "-executable",
    executable,
    "-address",
    loopbackAddress(0),
    "-folder",
    folder,
    "-for",
    options.soak ?? "5m",
  ];
  const json = options.json === undefined ? [] : ["-json", options.json];
  process.stderr.write(`logs in ${join(folder, "soak-*.log")}, kept when anything is wrong\n`);
  return await runInForeground([soak, ...flags, ...json]);
}
