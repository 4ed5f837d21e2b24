import { readFileSync } from "node:fs";

/**
 * The memory of all TCP sockets of this machine, namespaces or not, in pages: above `pressure` the kernel shrinks every
 * receive window to almost nothing, and says that this is over below `low` (tcp_mem in tcp(7)). A single program with a
 * thousand busy streams, also one that others run, then makes a link a thousand times slower.
 */
export interface SocketMemory {
  used: number;
  low: number;
  pressure: number;
}

/** Milliseconds that a measurement waits for others to release their memory. */
const patience = 30_000;

export function socketMemory(): SocketMemory {
  const [low = 0, pressure = 0] = readFileSync("/proc/sys/net/ipv4/tcp_mem", "utf8").trim().split(/\s+/).map(Number);
  const used = /^TCP: .* mem (\d+)/m.exec(readFileSync("/proc/net/sockstat", "utf8"))?.[1];
  return { used: Number(used ?? 0), low, pressure };
}

/** Whether the machine's sockets hold little memory. */
export function calm(): boolean {
  const { used, low } = socketMemory();
  return used < low / 2;
}

/** Waits until the machine's sockets hold little memory; goes on after half a minute all the same. */
export async function untilCalm(): Promise<void> {
  const deadline = Date.now() + patience;
  while (!calm() && Date.now() < deadline) await Bun.sleep(100);
}
