/** A source whose sink has not taken everything stays paused, also when a stream begins with more than the sink takes. */
import { expect, test } from "bun:test";
import type { Socket } from "bun";
import { Wire } from "../../../src/agent/net/wire.ts";
import { Stream } from "../../../src/agent/stream.ts";
import { Streams } from "../../../src/agent/streams.ts";
import type { Backend } from "../../../src/agent/target/backend.ts";
import { serve } from "../../../src/agent/target/serve.ts";
import { createLog } from "../../../src/log.ts";
import { createMetrics } from "../../../src/metrics.ts";

/** A wire over a socket of which the test decides how much it takes: what a real kernel takes cannot be told in advance. */
function makeWire(takes: number) {
  const state = { paused: false };
  const socket = {
    fd: -1,
    remoteAddress: "127.0.0.1",
    remotePort: 1,
    localAddress: "127.0.0.1",
    localPort: 2,
    write: (chunk: Uint8Array) => Math.min(takes, chunk.byteLength),
    pause: () => {
      state.paused = true;
    },
    resume: () => {
      state.paused = false;
    },
    terminate() {},
  };
  return { wire: new Wire(socket as unknown as Socket<Wire>), state };
}

const makeStreams = () => new Streams(createLog({ level: "error", format: "json" }), createMetrics());
const unknown = { from: undefined, to: undefined };
const early = new Uint8Array(20_000);

test.each([
  [0, true],
  [early.byteLength, false],
])("a consumer joined to a wire that takes %i bytes: paused is %p", (takes, paused) => {
  const [left, right] = [makeWire(0), makeWire(takes)];
  const stream = new Stream(makeStreams(), left.wire, { ...unknown, early });
  stream.wait({ ended() {} });
  stream.join(right.wire);
  expect(left.state.paused).toBe(paused);
});

test.each([
  [0, true],
  [early.byteLength, false],
])("a stream to a backend that takes %i bytes: paused is %p", async (takes, paused) => {
  const [left, right] = [makeWire(0), makeWire(takes)];
  const backend = { connect: async () => right.wire } as unknown as Backend;
  const stream = new Stream(makeStreams(), left.wire, unknown);
  const serving = serve(stream, backend, { connected() {}, failed() {} });
  left.wire.owner.received(early);
  await serving;
  expect(left.state.paused).toBe(paused);
});
