import { expect, test } from "bun:test";
import { type Duplex, nobody } from "../../../src/agent/net/duplex.ts";
import { Stream, StreamError } from "../../../src/agent/stream.ts";
import { Streams } from "../../../src/agent/streams.ts";
import { createLog } from "../../../src/log.ts";
import { createMetrics } from "../../../src/metrics.ts";

const farAway = 60_000;

/** One end of a stream, of which nothing comes. */
const silent = (): Duplex => ({
  owner: nobody,
  open: true,
  isClear: true,
  rawSource: undefined,
  rawSink: undefined,
  turnRaw() {},
  write: () => true,
  pause() {},
  resume() {},
  carryStream() {},
  finish() {},
  reset() {},
});

test("a drain waits for a stream that is being started", async () => {
  const streams = new Streams(createLog({ level: "error", format: "json" }), createMetrics());
  const started = [1, 2].map(() => new Stream(streams, silent(), { from: undefined, to: undefined }));
  const order: string[] = [];
  const drained = streams.drain(farAway).then(() => order.push("drained"));
  for (const [index, stream] of started.entries()) {
    await new Promise(setImmediate);
    order.push(`stream ${index + 1} is over`);
    stream.fail(new StreamError("refused", "nobody is there"));
  }
  await drained;
  expect(order).toEqual(["stream 1 is over", "stream 2 is over", "drained"]);
});
