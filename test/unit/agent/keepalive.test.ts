/** Accepted connections between proxy and target have keepalive also where the system's library cannot be loaded. */
import { expect, test } from "bun:test";
import { join } from "node:path";

const agent = join(import.meta.dir, "../../../src/agent/net");

/** Accepts one connection and prints the timer of its row in /proc/net/tcp: 02 is keepalive (proc(5)). */
const program = `
  Bun.plugin({
    name: "no system library",
    setup: (build) => build.onLoad({ filter: /agent.libc\\.ts$/ }, () => ({ contents: "export const libc = undefined;", loader: "ts" })),
  });
  const { listenWires } = await import(${JSON.stringify(join(agent, "listen.ts"))});
  const { connectWire } = await import(${JSON.stringify(join(agent, "connect.ts"))});
  const accepted = Promise.withResolvers();
  const keepAlive = process.env.SECONDS === undefined ? undefined : Number(process.env.SECONDS);
  const listener = listenWires(
    { host: "127.0.0.1", port: 0 },
    { spareDescriptors: () => 0, keepAlive, accept: accepted.resolve, exhausted() {} },
  );
  await connectWire("127.0.0.1", listener.port).wire;
  const wire = await accepted.promise;
  const hex = (port) => port.toString(16).toUpperCase().padStart(4, "0");
  const rows = (await Bun.file("/proc/net/tcp").text()).split("\\n").map((row) => row.trim().split(/\\s+/));
  const row = rows.find((one) => one[1]?.endsWith(":" + hex(listener.port)) && one[2]?.endsWith(":" + hex(wire.remote.port)));
  console.log(row[5].split(":")[0]);
  process.exit(0);
`;

test.skipIf(process.platform !== "linux").each([
  ["15", "02"],
  [undefined, "00"],
])("keepalive of %p seconds: timer %p", (seconds, timer) => {
  const ran = Bun.spawnSync([process.execPath, "-e", program], {
    env: { ...process.env, SECONDS: seconds },
  });
  expect({ out: ran.stdout.toString().trim(), err: ran.stderr.toString() }).toEqual({ out: timer, err: "" });
});
