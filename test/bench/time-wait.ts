import { readFileSync } from "node:fs";
import { ProgramError, runToEnd } from "./process.ts";

/** Milliseconds between two looks; a socket stays in TIME_WAIT for a minute. */
const lookEvery = 1000;

export interface TimeWaits {
  /** Sockets in TIME_WAIT with the address that is watched, at either end. */
  between: number;
  /** All of the machine, and how many the kernel keeps: beyond that it forgets them at once, and `between` says too little. */
  all: number;
  limit: number;
}

/**
 * Counts sockets in TIME_WAIT with `address` (host:port, IPv4) at either end, where `enter` leads, until it is asked for the
 * most that were seen.
 */
export function watchTimeWait(enter: readonly string[], address: string): { most(): Promise<TimeWaits> } {
  const limit = Number(readFileSync("/proc/sys/net/ipv4/tcp_max_tw_buckets", "utf8"));
  const ended = Promise.withResolvers<void>();
  const watching = (async () => {
    const most: TimeWaits = { between: 0, all: 0, limit };
    for (let over = false; ; ) {
      const { between, all } = await countTimeWaits(enter, address);
      most.between = Math.max(most.between, between);
      most.all = Math.max(most.all, all);
      if (over) return most;
      over = (await Promise.race([Bun.sleep(lookEvery).then(() => false), ended.promise.then(() => true)])) === true;
    }
  })();
  // Whoever measures may fail first.
  watching.catch(() => {});
  return {
    most: async () => {
      ended.resolve();
      return await watching;
    },
  };
}

async function countTimeWaits(enter: readonly string[], address: string): Promise<Omit<TimeWaits, "limit">> {
  const filter = ["state", "time-wait", `( src ${address} or dst ${address} )`];
  const list = await runToEnd([...enter, "ss", "-4Hnt", ...filter], 10);
  const all = timeWaitsIn(await runToEnd([...enter, "cat", "/proc/net/sockstat"], 10));
  return { between: list.split("\n").filter((line) => line.trim() !== "").length, all };
}

/** The number behind `tw` in the text of /proc/net/sockstat (proc_net(5)). */
export function timeWaitsIn(sockstat: string): number {
  const count = /^TCP: .*\btw (\d+)/m.exec(sockstat)?.[1];
  if (count === undefined) throw new ProgramError("/proc/net/sockstat does not say how many sockets are in TIME_WAIT");
  return Number(count);
}
