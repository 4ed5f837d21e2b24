import { expect, setDefaultTimeout, test } from "bun:test";
import { libc } from "../../src/agent/net/libc.ts";
import { type StuckTarget, stuckTargets } from "../support/log-targets.ts";
import { startProcess } from "../support/process.ts";
import { connectTcp, listenEcho, unusedPort } from "../support/tcp-ends.ts";
import { eventually } from "../support/tcp-wait.ts";
import { executable } from "../support/tunnel-compiled.ts";
import { readMetrics } from "../support/tunnel-metrics.ts";

setDefaultTimeout(60_000);

/** A role whose log goes to `errors`: nobody can read its ports from there, so they are chosen. */
function startRole(role: string, errors: StuckTarget, settings: Record<string, string>) {
  const port = unusedPort();
  const environment = {
    NETAMINITY_SECRET: "correct horse",
    NETAMINITY_LOG_LEVEL: "debug",
    NETAMINITY_LOG_FORMAT: "json",
    NETAMINITY_HEALTH_LISTEN: `127.0.0.1:${port}`,
    NETAMINITY_DEADLINE: "2s",
    ...settings,
  };
  const process = startProcess([executable(), role], environment, errors.descriptor);
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(3000) });
    return { status: response.status, text: await response.text() };
  };
  return {
    process,
    get,
    ready: () => eventually(async () => (await get("/readyz").catch(() => undefined))?.status === 200, "it is ready"),
    dropped: async () => readMetrics((await get("/metrics")).text).sum("netaminity_log_lines_dropped_total"),
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

test.each(Object.keys(stuckTargets))("%s stops nothing, and what it does not take is counted", async (kind) => {
  using errors = stuckTargets[kind]?.();
  if (errors === undefined) throw new Error("the name comes from the table");
  await using backend = await listenEcho();
  const [rendezvous, consumers] = [unusedPort(), unusedPort()];
  await using proxy = startRole("proxy", errors, {
    NETAMINITY_LISTEN: `127.0.0.1:${rendezvous}`,
    NETAMINITY_CONSUMER_LISTEN: `127.0.0.1:${consumers}`,
  });
  await using target = startRole("target", errors, {
    NETAMINITY_PROXY_ENDPOINT: `127.0.0.1:${rendezvous}`,
    NETAMINITY_ENDPOINT: `127.0.0.1:${backend.port}`,
  });
  await Promise.all([proxy.ready(), target.ready()]);
  const stream = async () => {
    await using consumer = await connectTcp(consumers);
    await consumer.send("hello");
    await consumer.untilReceived(5);
    consumer.finish();
    await consumer.untilFin();
  };
  await stream();
  for (const role of [proxy, target]) {
    expect((await role.get("/healthz")).status).toBe(200);
    expect(await role.dropped()).toBeGreaterThan(1);
  }
  if (errors.release !== undefined) {
    let text = errors.release();
    let counts = "";
    await eventually(
      async () => {
        // What is in a terminal is passed on in the kernel's own time: the first lines may still meet a full one, and are told of with later ones.
        await stream();
        text += errors.release?.() ?? "";
        const told = [...text.matchAll(/"message":"log lines were dropped","lines":(\d+)\}/g)].map(([, lines]) =>
          Number(lines),
        );
        const dropped = [await proxy.dropped(), await target.dropped()];
        counts = `${told} told, ${dropped} dropped`;
        return sum(told) === sum(dropped) && told.length > 1 && text.split("stream ended").length > 2;
      },
      () => `both tell how many lines were dropped, and go on (${counts}); there is:\n${text}`,
    );
  }
  for (const role of [target, proxy]) {
    role.process.signal("SIGTERM");
    expect(await role.process.exited()).toBe(0);
  }
});

test("the terminal's own mode, which the user's shell shares, stays as it was", async () => {
  using errors = stuckTargets["a terminal that nobody reads"]?.();
  if (errors === undefined) throw new Error("it is in the table");
  // fcntl.h: F_GETFL
  const flags = () => libc?.fcntl(errors.descriptor, 3, 0);
  const before = flags();
  await using proxy = startRole("proxy", errors, {
    NETAMINITY_LISTEN: "127.0.0.1:0",
    NETAMINITY_CONSUMER_LISTEN: "127.0.0.1:0",
  });
  // Alive means that the log is open and has got its first line.
  await eventually(async () => (await proxy.get("/healthz").catch(() => undefined))?.status === 200, "it is alive");
  expect(flags()).toBe(before);
});
