/** The executable for arm64 carries real traffic, in an emulator of that processor. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { run } from "../support/cluster/command.ts";
import { connectTcp, listenTcp, type TcpServer } from "../support/tcp-ends.ts";
import { type Implementation, untilReady } from "../support/tunnel.ts";
import { compiledWith } from "../support/tunnel-compiled.ts";
import { pattern } from "../tunnel/cases.ts";

setDefaultTimeout(120_000);

const root = join(import.meta.dir, "../..");
const program = join(root, "dist/netaminity-linux-arm64");
const emulated = (command: readonly string[]) => [
  "qemu-aarch64-static",
  "-L",
  "/usr/aarch64-linux-gnu",
  program,
  ...command,
];
/** Milliseconds that a start may take: the emulator translates a hundred megabytes of program as it goes. */
const patience = 60_000;

let proxy: Awaited<ReturnType<Implementation["startProxy"]>>;
let target: Awaited<ReturnType<Implementation["startTarget"]>>;
let backend: TcpServer;
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  await run([process.execPath, join(root, "scripts/build.ts"), "--target", "linux-arm64"], { timeout: 110_000 });
  const arm64 = compiledWith(([, ...rest]) => emulated(rest), patience);
  backend = stack.use(await listenTcp());
  // Emulated agents answer pings late.
  proxy = stack.use(await arm64.startProxy({ deadline: patience }));
  target = stack.use(await arm64.startTarget({ deadline: patience, proxy: proxy.rendezvous, backend }));
  await untilReady(target, patience);
  await untilReady(proxy, patience);
}, 300_000);

afterAll(() => stack.disposeAsync());

const pair = async () => {
  const consumer = await connectTcp(proxy.consumers.port);
  return { consumer, server: await backend.accept(patience) };
};

test("says for which machine it was made", async () => {
  expect(await run(emulated(["version"]), { timeout: patience })).toMatch(/for linux arm64, glibc/);
});

describe("a tunnel for arm64", () => {
  test("carries a mebibyte each way and the ends of both directions", async () => {
    const { consumer, server } = await pair();
    const [up, down] = [pattern(1 << 20, 1), pattern(1 << 20, 2)];
    await Promise.all([consumer.send(up), server.send(down)]);
    await Promise.all([consumer.untilReceived(down.length, patience), server.untilReceived(up.length, patience)]);
    consumer.finish();
    await server.untilFin(patience);
    // Half-closed: the answer still comes.
    await server.send("the last word");
    await consumer.untilReceived(down.length + 13, patience);
    server.finish();
    await consumer.untilClosed(patience);
    expect([consumer.reset, server.reset]).toEqual([undefined, undefined]);
    expect(Bun.SHA256.hash(server.bytes(), "hex")).toBe(Bun.SHA256.hash(up, "hex"));
  });

  test.each(["consumer", "server"] as const)("passes a reset by the %s", async (side) => {
    const ends = await pair();
    const other = ends[side === "consumer" ? "server" : "consumer"];
    await ends[side].send("hello");
    await other.untilReceived(5, patience);
    ends[side].abort();
    await other.untilClosed(patience);
    expect(other.reset).toBe("ECONNRESET");
  });

  test("uses the system's library as on other machines: long streams move in the kernel", () => {
    expect(proxy.log.text()).not.toContain("cannot be called");
  });
});
