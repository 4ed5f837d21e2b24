import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProcess } from "../support/process.ts";
import { type RunningRole, tunnelOf } from "../support/tunnel.ts";
import { compiledWith } from "../support/tunnel-compiled.ts";
import { openRig } from "../support/tunnel-rig.ts";

setDefaultTimeout(60_000);

let folder = "";
/** The program with the defects of test/support/defective-main.ts, compiled. */
const defective = () => join(folder, "netaminity");

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "netaminity-defect-"));
  const entry = join(import.meta.dir, "../support/defective-main.ts");
  const flags = ["--compile", "--minify", "--bytecode", "--format=esm"];
  const build = Bun.spawnSync([process.execPath, "build", ...flags, entry, "--outfile", defective()]);
  if (!build.success) throw new Error(`the build failed:\n${build.stderr}`);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const withDefect = (defect: string) => compiledWith(([, ...args]) => ["env", `DEFECT=${defect}`, defective(), ...args]);

/** The last line, without the build's names of functions and files in it. */
function lastLine(log: RunningRole["log"]) {
  const { level, message, fields } = log.lines.at(-1) ?? { level: "none", message: "", fields: {} };
  return { level, message, error: fields.error, stack: String(fields.stack).split("\n")[0] };
}

const told = {
  level: "error",
  message: "unexpected failure",
  error: "a defect in a test",
  stack: "TypeError: a defect in a test",
};

describe.each(["proxy", "target"] as const)("an exception that nobody catches, at the %s", (side) => {
  test.each(["timer", "immediate", "microtask", "promise"])(
    "in a %s, is one error line, resets all streams and ends the process with 1",
    async (defect) => {
      await using rig = await openRig(tunnelOf(withDefect(defect)));
      const role = rig.tunnel[side];
      const { consumer, server } = await rig.pair();
      await consumer.send("x");
      await server.untilReceived(1);
      role?.process?.signal("SIGUSR2");
      expect(await role?.process?.exited()).toBe(1);
      await Promise.all([consumer.untilReset(), server.untilReset()]);
      expect(role && lastLine(role.log)).toEqual(told);
    },
  );

  test("in a callback of a socket, does the same to the other streams too", async () => {
    await using rig = await openRig(tunnelOf(withDefect("socket callback")));
    const role = rig.tunnel[side];
    const first = await rig.pair();
    const second = await rig.pair();
    await first.consumer.send("x");
    await second.consumer.send("x");
    await Promise.all([first.server.untilReceived(1), second.server.untilReceived(1)]);
    role?.process?.signal("SIGUSR2");
    // Signals wait for the event loop: the defect is there once the role has answered something that was asked later.
    await fetch(`http://${role?.health.host}:${role?.health.port}/healthz`);
    first.consumer.finish();
    expect(await role?.process?.exited()).toBe(1);
    await Promise.all([second.consumer.untilReset(), second.server.untilReset()]);
    expect(role && lastLine(role.log)).toEqual(told);
  });
});

test("a rejection without a reason is told too", async () => {
  await using proxy = await withDefect("nothing thrown").startProxy();
  proxy.process?.signal("SIGUSR2");
  expect(await proxy.process?.exited()).toBe(1);
  expect(proxy.log.lines.at(-1)).toMatchObject({ level: "error", message: "unexpected failure" });
});

test("the operator ends in the same way", async () => {
  const kubeconfig = join(folder, "kubeconfig");
  const entry = (name: string, value: Record<string, unknown>) => [{ name: "test", [name]: value }];
  await Bun.write(
    kubeconfig,
    JSON.stringify({
      "current-context": "test",
      contexts: entry("context", { cluster: "test", user: "test" }),
      // Nobody listens there: the operator goes on trying.
      clusters: entry("cluster", { server: "https://127.0.0.1:9" }),
      users: entry("user", { token: "none" }),
    }),
  );
  const flags = [
    "--kubeconfig",
    kubeconfig,
    "--leader-elect=false",
    "--health-listen=127.0.0.1:0",
    "--log-format=json",
  ];
  await using operator = startProcess([defective(), "operator", ...flags], { DEFECT: "timer" });
  await operator.log.first("listening");
  operator.signal("SIGUSR2");
  expect(await operator.exited()).toBe(1);
  expect(lastLine(operator.log)).toEqual(told);
});
