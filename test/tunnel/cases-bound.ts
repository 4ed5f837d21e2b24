import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { HostPort } from "../../src/endpoint.ts";
import type { TcpSocket } from "../support/tcp.ts";
import { eventually } from "../support/tcp-wait.ts";
import type { TunnelKind } from "../support/tunnel.ts";
import { openRig, type Rig } from "../support/tunnel-rig.ts";

/** Most bytes of one direction of one stream that the two roles together may hold in their own memory. */
const mostInUserSpace = 1.5 * 1024 * 1024;

/** `host:port` as /proc/net/tcp writes it: the address in host byte order, both in hexadecimal. */
function procAddress({ host, port }: HostPort): string {
  const octets = host.split(".").map((octet) => Number(octet).toString(16).padStart(2, "0"));
  return `${octets.reverse().join("")}:${port.toString(16).padStart(4, "0")}`.toUpperCase();
}

/** Bytes in the kernel's queues of all connections to these addresses, at both ends. */
function kernelQueues(addresses: readonly HostPort[]): number {
  const wanted = new Set(addresses.map(procAddress));
  let bytes = 0;
  for (const line of readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1)) {
    const [, local = "", remote = "", , queues = ""] = line.trim().split(/\s+/);
    if (!wanted.has(local) && !wanted.has(remote)) continue;
    const [sending = "0", receiving = "0"] = queues.split(":");
    bytes += Number.parseInt(sending, 16) + Number.parseInt(receiving, 16);
  }
  return bytes;
}

/** Writes until the kernel has taken nothing for a while: everything on the way is full. */
async function fill(writer: TcpSocket): Promise<void> {
  const chunk = new Uint8Array(256 * 1024).fill(7);
  let quiet = 0;
  await eventually(
    () => {
      quiet = writer.offer(chunk) > 0 ? 0 : quiet + 1;
      return quiet >= 30;
    },
    () => `the writer is paused; it could write ${writer.accepted} bytes`,
    20_000,
  );
}

async function drainAll(reader: TcpSocket, writer: TcpSocket): Promise<void> {
  reader.resume();
  writer.finish();
  await reader.untilFin(20_000);
  expect(reader.received).toBe(writer.accepted);
}

/** Bytes that were accepted, not read, and are in none of the kernel's queues: those the tunnel itself holds. */
function heldByTunnel({ tunnel, backend }: Rig, writer: TcpSocket, reader: TcpSocket): number {
  const addresses = [tunnel.consumers, tunnel.rendezvous, backend].filter((address) => address !== undefined);
  return writer.accepted - reader.received - kernelQueues(addresses);
}

/** A slow reader has to pause a fast writer across the whole way. */
export function boundCases(kind: TunnelKind): void {
  test("pauses a consumer that writes faster than the backend reads, and loses nothing", async () => {
    await using rig = await openRig(kind, { keep: false });
    const { consumer, server } = await rig.pair();
    server.pause();
    await fill(consumer);
    expect(heldByTunnel(rig, consumer, server)).toBeLessThan(mostInUserSpace);
    await drainAll(server, consumer);
  });

  test("pauses a backend that writes faster than the consumer reads, and loses nothing", async () => {
    await using rig = await openRig(kind, { keep: false });
    const { consumer, server } = await rig.pair({ keep: false });
    consumer.pause();
    await fill(server);
    expect(heldByTunnel(rig, server, consumer)).toBeLessThan(mostInUserSpace);
    await drainAll(consumer, server);
  });

  test("does not let a stream that nobody reads hold up another one", async () => {
    await using rig = await openRig(kind, { keep: false });
    const stuck = await rig.pair();
    stuck.server.pause();
    await fill(stuck.consumer);
    const lively = await rig.pair();
    await lively.consumer.send(new Uint8Array(3_000_000));
    await lively.server.untilReceived(3_000_000);
    expect(stuck.server.received).toBe(0);
  });
}
