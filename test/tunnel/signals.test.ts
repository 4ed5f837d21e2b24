import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { listenTcp } from "../support/tcp-ends.ts";
import {
  ask,
  type RunningProxy,
  type RunningRole,
  type RunningTarget,
  tunnelOf,
  untilUnready,
} from "../support/tunnel.ts";
import { compiled, compiledWith } from "../support/tunnel-compiled.ts";
import { isTurnedAway, openRig } from "../support/tunnel-rig.ts";

setDefaultTimeout(60_000);

const kind = tunnelOf(compiled);

interface Roles {
  proxy: RunningProxy;
  target: RunningTarget;
}

function rolesOf(tunnel: { proxy: RunningProxy | undefined; target: RunningTarget | undefined }): Roles {
  if (tunnel.proxy === undefined || tunnel.target === undefined) throw new Error("both roles are ours");
  return { proxy: tunnel.proxy, target: tunnel.target };
}

/** The sockets on which it listens, from tcp(5): state 0A. */
function listenersOf({ process }: RunningRole): string[] {
  const own = new Set(readdirSync(`/proc/${process?.pid}/fd`).map((fd) => linkOf(`/proc/${process?.pid}/fd/${fd}`)));
  return ["tcp", "tcp6"]
    .flatMap((kind) => readFileSync(`/proc/${process?.pid}/net/${kind}`, "latin1").split("\n"))
    .map((line) => line.trim().split(/\s+/))
    .filter((field) => field[3] === "0A" && own.has(`socket:[${field[9]}]`))
    .map((field) => String(field[1]))
    .toSorted();
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "closed meanwhile";
  }
}

describe.each(["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const)("after %s", (stop) => {
  test.each(["proxy", "target"] as const)("the %s lets a running stream end and exits with 0", async (side) => {
    await using rig = await openRig(kind);
    const role = rolesOf(rig.tunnel)[side];
    const { consumer, server } = await rig.pair();
    await consumer.send("before");
    role.process?.signal(stop);
    await untilUnready(role);
    await isTurnedAway(rig.tunnel.consumers);
    await consumer.send(" and after");
    await server.untilReceived(16);
    await server.send("answer");
    server.finish();
    await consumer.untilFin();
    consumer.finish();
    await server.untilFin();
    expect({ up: server.text(), down: consumer.text() }).toEqual({ up: "before and after", down: "answer" });
    expect(await role.process?.exited()).toBe(0);
  });
});

describe("a drain", () => {
  test.each(["proxy", "target"] as const)(
    "of the %s resets what has not ended after the drain timeout and exits with 0",
    async (side) => {
      await using rig = await openRig(kind, {}, { drainTimeout: 500 });
      const role = rolesOf(rig.tunnel)[side];
      const { consumer, server } = await rig.pair();
      await consumer.send("x");
      await server.untilReceived(1);
      role.process?.signal("SIGTERM");
      await Promise.all([consumer.untilReset(), server.untilReset()]);
      expect(await role.process?.exited()).toBe(0);
    },
  );

  test.each(["proxy", "target"] as const)("of the %s is cut short by a second signal", async (side) => {
    await using rig = await openRig(kind, {}, { drainTimeout: 60_000 });
    const role = rolesOf(rig.tunnel)[side];
    const { consumer, server } = await rig.pair();
    await consumer.send("x");
    await server.untilReceived(1);
    role.process?.signal("SIGTERM");
    await untilUnready(role);
    role.process?.signal("SIGTERM");
    // 128 plus the number of the signal: the streams were not allowed to end.
    expect(await role.process?.exited(3000)).toBe(143);
    await consumer.untilClosed();
  });

  test.each(["proxy", "target"] as const)(
    "of the %s goes on when a closed terminal sends SIGHUP twice",
    async (side) => {
      await using rig = await openRig(kind);
      const role = rolesOf(rig.tunnel)[side];
      const { consumer, server } = await rig.pair();
      await consumer.send("x");
      await server.untilReceived(1);
      role.process?.signal("SIGHUP");
      await untilUnready(role);
      role.process?.signal("SIGHUP");
      await server.send("y");
      await consumer.untilReceived(1);
      server.finish();
      await consumer.untilFin();
      consumer.finish();
      expect(await role.process?.exited()).toBe(0);
    },
  );

  test.each(["proxy", "target"] as const)("of an idle %s ends at once with 0", async (side) => {
    await using backend = await listenTcp();
    await using tunnel = await kind.open({ backend, drainTimeout: 60_000 });
    const role = rolesOf(tunnel)[side];
    role.process?.signal("SIGTERM");
    expect(await role.process?.exited(5000)).toBe(0);
  });
});

describe.each(["proxy", "target"] as const)("the %s", (side) => {
  test("goes on after SIGUSR1 and SIGUSR2, and opens nothing", async () => {
    await using rig = await openRig(kind);
    const role = rolesOf(rig.tunnel)[side];
    const { consumer, server } = await rig.pair();
    const before = listenersOf(role);
    role.process?.signal("SIGUSR1");
    role.process?.signal("SIGUSR2");
    // The role handles signals before requests that come later.
    expect((await ask(role, "/readyz")).status).toBe(200);
    await consumer.send("x");
    await server.untilReceived(1);
    expect([listenersOf(role), before.length > 0]).toEqual([before, true]);
  });

  test("leaves alone the hang-up that nohup makes it ignore", async () => {
    await using rig = await openRig(tunnelOf(compiledWith((command) => ["nohup", ...command])));
    const role = rolesOf(rig.tunnel)[side];
    role.process?.signal("SIGHUP");
    expect((await ask(role, "/readyz")).status).toBe(200);
    role.process?.signal("SIGTERM");
    expect(await role.process?.exited()).toBe(0);
    expect(role.log.all("draining").map(({ fields }) => fields.signal)).toEqual(["SIGTERM"]);
  });
});

test("a role that cannot listen ends with 2 and says which address is taken", async () => {
  await using taken = await listenTcp();
  const failure = await compiled.startProxy({ consumerPort: taken.port }).then(
    () => "it started",
    (error: Error) => error.message,
  );
  expect(failure).toContain("ended with 2");
  expect(failure).toContain(String(taken.port));
});
