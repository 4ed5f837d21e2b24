import { expect, test } from "bun:test";
import { StreamError, Streams } from "../../../src/agent/streams.ts";
import { createLog } from "../../../src/log.ts";
import { createMetrics } from "../../../src/metrics.ts";

const farAway = 60_000;

test("a drain waits for a stream that is being started", async () => {
  const streams = new Streams(createLog({ level: "error", format: "json" }), createMetrics());
  streams.expect(1);
  streams.expect(2);
  const order: string[] = [];
  const drained = streams.drain(farAway).then(() => order.push("drained"));
  for (const stream of [1, 2]) {
    await new Promise(setImmediate);
    order.push(`stream ${stream} is over`);
    streams.failed({ stream, peer: undefined, since: 0 }, new StreamError("refused", "nobody is there"));
  }
  await drained;
  expect(order).toEqual(["stream 1 is over", "stream 2 is over", "drained"]);
});
