import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { denying } from "../support/denying-launcher.ts";
import type { TcpSocket } from "../support/tcp.ts";
import { connectTcp, listenEcho } from "../support/tcp-ends.ts";
import { metricsOf, tunnelOf } from "../support/tunnel.ts";
import { compiledWith, type Launcher } from "../support/tunnel-compiled.ts";

setDefaultTimeout(60_000);

const warning = "not every guarantee can be kept here";
const resetWhenKilled =
  "streams are reset when this process is killed (they end as if they were complete: a cut answer looks whole)";
const resetPassedOn = "a reset at one end is a reset at the other (it arrives as an orderly end)";
const kernelMoves = "bulk transfers move inside the kernel, in bounded memory (they are slower and take more)";
const noCode =
  "the system's library cannot be called (bun:ffi requires the JIT); it takes glibc or musl, and memory that may be written and executed";

/** What both roles warn of at the start and count, how a consumer's reset arrives at the backend, and what a kill -9 of the proxy looks like. */
async function observe(launch: Launcher) {
  await using backend = await listenEcho();
  await using tunnel = await tunnelOf(compiledWith(launch)).open({ backend });
  const { proxy, target } = tunnel;
  if (proxy === undefined || target === undefined) throw new Error("both roles are ours");
  await using consumer = await connectTcp(tunnel.consumers.port);
  await consumer.send("hello");
  await consumer.untilReceived(5);
  await using other = await connectTcp(tunnel.consumers.port);
  await other.send("bye");
  await other.untilReceived(3);
  other.abort();
  const roles = await Promise.all(
    [proxy, target].map(async (role) => ({
      warnings: role.log.all(warning).map(({ level, fields: { off, reason } }) => ({ level, off, reason })),
      metric: (await metricsOf(role)).sum("netaminity_guarantees_off"),
    })),
  );
  const server = backend.sockets[1];
  await server?.until((one) => one.fin || one.closed, "the backend notices");
  proxy.process?.signal("SIGKILL");
  await consumer.until((one) => one.fin || one.closed, "the consumer notices");
  return { roles, reset: endOf(server), killed: endOf(consumer) };
}

const endOf = (socket: TcpSocket | undefined) => (socket?.fin ? "FIN" : socket?.reset);

const both = <Role>(role: Role): Role[] => [role, role];

describe("at the start both roles say what cannot be kept", () => {
  test("nothing, where all is well", async () => {
    expect(await observe((command) => command)).toEqual({
      roles: both({ warnings: [], metric: 0 }),
      reset: "ECONNRESET",
      killed: "ECONNRESET",
    });
  });

  test.each<[string, Launcher]>([
    ["without memory that may be written and executed", denying("no-writable-code")],
    ["without the JIT", (command) => ["env", "BUN_JSC_useJIT=0", ...command]],
    ["in a small address space", (command) => ["/bin/sh", "-c", 'ulimit -v 1000000; exec "$@"', "sh", ...command]],
  ])("%s", async (_, launch) => {
    expect(await observe(launch)).toEqual({
      roles: both({
        warnings: [{ level: "warn", off: `${resetWhenKilled}; ${kernelMoves}`, reason: noCode }],
        metric: 2,
      }),
      reset: "ECONNRESET",
      killed: "FIN",
    });
  });

  test("where SO_LINGER is refused", async () => {
    expect(await observe(denying("no-linger"))).toEqual({
      roles: both({
        warnings: [
          { level: "warn", off: `${resetPassedOn}; ${resetWhenKilled}`, reason: "setsockopt(SO_LINGER) is refused" },
        ],
        metric: 2,
      }),
      reset: "FIN",
      killed: "FIN",
    });
  });
});
