import { expect, setDefaultTimeout, test } from "bun:test";
import { wakeUpsPerSecond } from "../bench/wake-ups.ts";
import { listenTcp } from "../support/tcp-ends.ts";
import { eventually } from "../support/tcp-wait.ts";
import { metricsOf, tunnelOf } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";

setDefaultTimeout(60_000);

/** Wake-ups per second of an idle process; measured are 13 to 20, and 120 when anything ticks every 10 ms. */
const rare = 50;
/** Seconds over which they are counted. */
const span = 4;

test("an idle pair wakes rarely, and still says how late its event loop was", async () => {
  await using backend = await listenTcp();
  await using tunnel = await tunnelOf(compiled).open({ backend, deadline: 3000 });
  const roles = [tunnel.proxy, tunnel.target].map((role) => {
    if (role?.process === undefined) throw new Error("the role is no process of its own");
    return { metrics: () => metricsOf(role), pid: role.process.pid };
  });
  let rates: number[] = [];
  // Its start, compiling above all, is over after a moment.
  await eventually(
    async () => {
      rates = await wakeUpsPerSecond(
        roles.map((role) => role.pid),
        span,
      );
      return rates.every((rate) => rate < rare);
    },
    () =>
      `less than ${rare} wake-ups per second at the proxy and at the target, the last ones are ${rates.map(Math.round)}`,
    20_000,
  );
  // Pings alone make more than that: something was counted.
  expect(Math.min(...rates)).toBeGreaterThan(1);
  for (const role of roles) {
    const metrics = await role.metrics();
    expect(metrics.sum("nodejs_eventloop_lag_max_seconds")).toBeGreaterThan(0);
    expect(metrics.sum("nodejs_eventloop_lag_p50_seconds")).toBeLessThan(1);
  }
});
