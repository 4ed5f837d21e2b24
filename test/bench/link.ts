import { join } from "node:path";
import { ProgramError, type Running, runToEnd, start, undoOnExit } from "./process.ts";
import { freePort, type Site } from "./site.ts";

/** Port of the backend that runs at the far end of a link. */
const backendPort = 9000;
/** First port that products get inside the namespaces, where nobody else listens. */
const firstPort = 20000;

/** Two network namespaces with a slow link between them, and a backend at the client's end. */
export interface Link extends AsyncDisposable {
  site: Omit<Site, "folder">;
}

/**
 * Makes the link. Packets are held back at IP level, so that every handshake costs what it costs on a real line. Needs
 * root (CAP_SYS_ADMIN and CAP_NET_ADMIN). `roundTrip` in milliseconds.
 */
export async function openLink(
  tools: { load: string; delay: string },
  roundTrip: number,
  folder: string,
): Promise<Link> {
  if (process.getuid?.() !== 0) throw new ProgramError("the rows named link-* need root for network namespaces");
  const id = `nb${process.pid.toString(36)}r${roundTrip}`;
  const ends = [`${id}a`, `${id}b`] as const;
  const addresses = ["10.200.0.1", "10.200.0.2"] as const;
  const running: Running[] = [];
  const removeAll = () => {
    for (const end of ends) Bun.spawnSync(["ip", "netns", "del", end], { stderr: "ignore" });
  };
  const forget = undoOnExit(removeAll);
  const dispose = async () => {
    for (const program of running) await program[Symbol.asyncDispose]();
    removeAll();
    forget();
  };
  try {
    const delayLog = join(folder, "delay.log");
    running.push(
      start("delay", [tools.delay, "-left", ends[0], "-right", ends[1], "-one-way", `${roundTrip / 2}ms`], delayLog),
    );
    await appeared(ends);
    for (const [index, end] of ends.entries()) await placeDevice(end, addresses[index] ?? "");
    const enter = (end: string) => ["nsenter", `--net=/run/netns/${end}`];
    const backend = `${addresses[1]}:${backendPort}`;
    running.push(
      start("backend", [...enter(ends[1]), tools.load, "serve", "-backend", backend], join(folder, "backend.log")),
    );
    let port = firstPort;
    return {
      site: {
        server: { address: addresses[0], enter: enter(ends[0]) },
        client: { address: addresses[1], enter: enter(ends[1]) },
        backend,
        port: async () => port++,
      },
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function appeared(devices: readonly string[]): Promise<void> {
  const deadline = Date.now() + 5000;
  for (const device of devices) {
    while (Bun.spawnSync(["ip", "link", "show", device], { stdout: "ignore", stderr: "ignore" }).exitCode !== 0) {
      if (Date.now() > deadline) throw new ProgramError(`the TUN device ${device} did not appear`);
      await Bun.sleep(20);
    }
  }
}

/** Makes a namespace, puts the device of the same name into it and brings both it and loopback up. */
async function placeDevice(name: string, address: string): Promise<void> {
  await runToEnd(["ip", "netns", "add", name], 10);
  await runToEnd(["ip", "link", "set", name, "netns", name], 10);
  await runToEnd(["ip", "-n", name, "addr", "add", `${address}/30`, "dev", name], 10);
  await runToEnd(["ip", "-n", name, "link", "set", name, "up"], 10);
  await runToEnd(["ip", "-n", name, "link", "set", "lo", "up"], 10);
}

/** A site on this machine's own loopback, for the nth product of a run. */
export async function loopbackSite(address: string, folder: string): Promise<Site> {
  const place = { address, enter: [] };
  return {
    server: place,
    client: place,
    backend: `${address}:${await freePort(address)}`,
    folder,
    port: (at) => freePort(at.address),
  };
}
