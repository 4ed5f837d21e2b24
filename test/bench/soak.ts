import type { Options } from "./options.ts";

export async function runSoak(soak: string, executable: string, options: Options, folder: string): Promise<number> {
  throw new Error(`not yet: ${soak} ${executable} ${options.soak} ${folder}`);
}
