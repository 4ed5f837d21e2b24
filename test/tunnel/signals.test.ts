import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { listenTcp } from "../support/tcp-ends.ts";
import { type RunningProxy, type RunningTarget, tunnelOf, untilUnready } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
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

describe.each(["SIGTERM", "SIGINT"] as const)("after %s", (stop) => {
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

  test.each(["proxy", "target"] as const)("of an idle %s ends at once with 0", async (side) => {
    await using backend = await listenTcp();
    await using tunnel = await kind.open({ backend, drainTimeout: 60_000 });
    const role = rolesOf(tunnel)[side];
    role.process?.signal("SIGTERM");
    expect(await role.process?.exited(5000)).toBe(0);
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
