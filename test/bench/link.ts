import { readFileSync } from "node:fs";
import { join } from "node:path";
import { OptionError } from "./options.ts";
import { ProgramError, type Running, runToEnd, start, undoOnExit } from "./process.ts";
import type { LinkShape } from "./rows.ts";
import { freePort, type Site } from "./site.ts";

/** Port of the backend that runs at the far end of a link. */
const backendPort = 9000;
/** Both ends of the link. */
const network = "10.200.0.0/30";
/** First port that products get inside the namespaces, where nobody else listens. */
const firstPort = 20000;

/** Two network namespaces with a link between them; the backend is at the client's end. */
export interface Link extends AsyncDisposable {
  site: Omit<Site, "folder">;
}

/**
 * What differs from the kernel's defaults in the namespaces: what it remembers of a route (tcp_no_metrics_save, see
 * tcp(7)) would hand the slow start of one product to the next.
 */
const kernelSetting = "net.ipv4.tcp_no_metrics_save=1";

/**
 * Packets that wait for the program that carries them (the default is 500): when the machine is busy for a moment they
 * must not be lost on a link that loses none.
 */
const deviceQueue = 10_000;

/**
 * Makes the link. Packets are held back at IP level, so that every handshake costs what it costs on a real line. Needs
 * root (CAP_SYS_ADMIN and CAP_NET_ADMIN). `congestion` is the congestion control of both ends.
 */
export async function openLink(delay: string, shape: LinkShape, congestion: string, folder: string): Promise<Link> {
  if (process.getuid?.() !== 0) throw new ProgramError("the rows with a link need root for network namespaces");
  const id = `nb${process.pid.toString(36)}r${shape.roundTrip}`;
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
    running.push(start("delay", [delay, "-left", ends[0], "-right", ends[1], ...delayFlags(shape)], delayLog));
    await appeared(ends);
    for (const [index, end] of ends.entries()) await placeDevice(end, addresses[index] ?? "", congestion);
    const file = (end: string) => `/run/netns/${end}`;
    const enter = (end: string) => ["nsenter", `--net=${file(end)}`];
    for (const end of ends) await runToEnd([...enter(end), "sysctl", "-q", "-w", kernelSetting], 10);
    let port = firstPort;
    return {
      site: {
        server: { address: addresses[0], enter: enter(ends[0]) },
        client: { address: addresses[1], enter: enter(ends[1]) },
        backend: `${addresses[1]}:${backendPort}`,
        backendNamespace: file(ends[1]),
        port: async () => port++,
      },
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** The congestion control that was asked for, or the machine's own. Throws OptionError when there is no such one. */
export function congestionControl(wanted: string | undefined): string {
  const setting = (name: string) => readFileSync(`/proc/sys/net/ipv4/tcp_${name}`, "utf8").trim();
  const available = setting("available_congestion_control").split(" ");
  if (wanted !== undefined && !available.includes(wanted))
    throw new OptionError(`--congestion: "${wanted}" given, this machine has ${available.join(", ")}`);
  return wanted ?? setting("congestion_control");
}

function delayFlags({ roundTrip, rate, queue, loss }: LinkShape): string[] {
  const flags: [string, string | number | undefined][] = [
    ["-one-way", `${roundTrip / 2}ms`],
    ["-rate", rate],
    ["-queue", queue],
    ["-loss", loss],
  ];
  return flags.flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]));
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
async function placeDevice(name: string, address: string, congestion: string): Promise<void> {
  await runToEnd(["ip", "netns", "add", name], 10);
  await runToEnd(["ip", "link", "set", name, "netns", name], 10);
  await runToEnd(["ip", "-n", name, "addr", "add", `${address}/30`, "dev", name], 10);
  await runToEnd(["ip", "-n", name, "link", "set", name, "txqueuelen", String(deviceQueue), "up"], 10);
  await runToEnd(["ip", "-n", name, "link", "set", "lo", "up"], 10);
  // For the route (ip-route(8)), because a namespace may choose only what the whole machine allows.
  const route = [network, "dev", name, "proto", "kernel", "scope", "link", "src", address];
  await runToEnd(["ip", "-n", name, "route", "replace", ...route, "congctl", congestion], 10);
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
