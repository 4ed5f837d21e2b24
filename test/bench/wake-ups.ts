import { readdirSync, readFileSync } from "node:fs";

/** Threads by id, and how often each has gone to sleep by itself: whatever it waited for woke it (proc_pid_status(5)). */
export type Sleeps = ReadonlyMap<string, number>;

export function sleepsOf(pid: number): Sleeps {
  const folder = `/proc/${pid}/task`;
  return new Map(
    readdirSync(folder).flatMap((thread) => {
      try {
        const count = /^voluntary_ctxt_switches:\s+(\d+)$/m.exec(
          readFileSync(`${folder}/${thread}/status`, "utf8"),
        )?.[1];
        return count === undefined ? [] : [[thread, Number(count)] as const];
      } catch {
        // It has ended since the folder was read.
        return [];
      }
    }),
  );
}

/** How often all threads of a process have woken between two looks. A thread that has ended meanwhile counts no more. */
export function wakeUps(before: Sleeps, after: Sleeps): number {
  return [...after].reduce((sum, [thread, count]) => sum + count - (before.get(thread) ?? 0), 0);
}

/** Wake-ups per second of each process inside a window of `seconds`, in the order given. Throws when one has ended. */
export async function wakeUpsPerSecond(pids: readonly number[], seconds: number): Promise<number[]> {
  const before = pids.map(sleepsOf);
  const since = performance.now();
  await Bun.sleep(seconds * 1000);
  const elapsed = (performance.now() - since) / 1000;
  return pids.map((pid, index) => wakeUps(before[index] ?? new Map(), sleepsOf(pid)) / elapsed);
}
