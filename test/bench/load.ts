import { z } from "zod";
import { runToEnd } from "./process.ts";

const usage = z.object({ cpuSeconds: z.number(), peakRssAnon: z.number(), descriptors: z.number() });
const watchedProcesses = z.record(z.string(), usage);

const results = {
  throughput: z.object({
    upBytes: z.number(),
    downBytes: z.number(),
    seconds: z.number(),
    left: z.number(),
    peakSocketPages: z.number(),
    replies: z.array(z.number()),
    ownCpuSeconds: z.number(),
    watched: watchedProcesses,
  }),
  rate: z.object({
    exchanges: z.number(),
    failures: z.number(),
    failure: z.string().optional(),
    seconds: z.number(),
    p50: z.number(),
    p99: z.number(),
    left: z.number(),
    ownCpuSeconds: z.number(),
    watched: watchedProcesses,
  }),
  idle: z.object({ streams: z.number(), left: z.number(), watched: watchedProcesses }),
  reply: z.object({
    alone: z.array(z.number()),
    together: z.array(z.array(z.number())),
    connects: z.array(z.number()),
  }),
};

export type LoadMode = keyof typeof results;
export type LoadResult<Mode extends LoadMode> = z.infer<(typeof results)[Mode]>;
export type Usage = z.infer<typeof usage>;

export interface LoadOptions {
  /** The load generator's executable, behind whatever enters its network namespace. */
  command: readonly string[];
  flags: Record<string, string | number>;
  /** Name and process id of what to sample. */
  watch?: Record<string, number>;
  /** Seconds after which the run has failed. */
  timeout: number;
}

/** One run of the load generator (see test/bench/load/main.go). Rejects with its own message when it fails. */
export async function runLoad<Mode extends LoadMode>(mode: Mode, options: LoadOptions): Promise<LoadResult<Mode>> {
  const flags = Object.entries(options.flags).map(([name, value]) => `-${name}=${value}`);
  const watch = Object.entries(options.watch ?? {}).flatMap(([name, pid]) => ["-watch", `${name}:${pid}`]);
  const output = await runToEnd([...options.command, mode, ...flags, ...watch], options.timeout);
  return results[mode].parse(JSON.parse(output)) as LoadResult<Mode>;
}
