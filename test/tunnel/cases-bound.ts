import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { TcpSocket } from "../support/tcp.ts";
import { eventually } from "../support/tcp-wait.ts";
import type { TunnelKind } from "../support/tunnel.ts";
import { openRig } from "../support/tunnel-rig.ts";

/** Most bytes of one direction of one stream that the two roles together may hold in their own memory. */
const mostInUserSpace = 3 * 1024 * 1024;

interface Queues {
  port: number;
  sending: number;
  receiving: number;
}

/** Kernel queues of all TCP sockets of this machine, by local port. */
function kernelQueues(): Queues[] {
  return ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((path) =>
    readFileSync(path, "utf8")
      .split("\n")
      .slice(1)
      .filter((line) => line.trim() !== "")
      .map((line) => {
        const [, local = "", , , queues = ""] = line.trim().split(/\s+/);
        const [sending = "0", receiving = "0"] = queues.split(":");
        return {
          port: Number.parseInt(local.split(":")[1] ?? "0", 16),
          sending: Number.parseInt(sending, 16),
          receiving: Number.parseInt(receiving, 16),
        };
      }),
  );
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
function heldByTunnel(writer: TcpSocket, reader: TcpSocket): number {
  const queued = kernelQueues().reduce((sum, { sending, receiving }) => sum + sending + receiving, 0);
  return writer.accepted - reader.received - queued;
}

/** A slow reader has to pause a fast writer across the whole way. */
export function boundCases(kind: TunnelKind): void {
  test("pauses a consumer that writes faster than the backend reads, and loses nothing", async () => {
    await using rig = await openRig(kind, { keep: false });
    const { consumer, server } = await rig.pair();
    server.pause();
    await fill(consumer);
    expect(heldByTunnel(consumer, server)).toBeLessThan(mostInUserSpace);
    await drainAll(server, consumer);
  });

  test("pauses a backend that writes faster than the consumer reads, and loses nothing", async () => {
    await using rig = await openRig(kind, { keep: false });
    const { consumer, server } = await rig.pair({ keep: false });
    consumer.pause();
    await fill(server);
    expect(heldByTunnel(server, consumer)).toBeLessThan(mostInUserSpace);
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
