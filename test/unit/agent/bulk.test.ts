import { afterEach, expect, test } from "bun:test";
import { goOn, startFlow, stopFlow, wasRead } from "../../../src/agent/net/bulk.ts";
import type { BulkFlow } from "../../../src/agent/net/bulk-flow.ts";
import type { DuplexOwner } from "../../../src/agent/net/duplex.ts";
import { libc } from "../../../src/agent/net/libc.ts";
import { listenWires } from "../../../src/agent/net/listen.ts";
import { splice } from "../../../src/agent/net/splice.ts";
import type { Wire } from "../../../src/agent/net/wire.ts";
import type { TcpSocket } from "../../support/tcp.ts";
import { connectTcp } from "../../support/tcp-ends.ts";
import { eventually } from "../../support/tcp-wait.ts";

const mebibyte = 1024 * 1024;
afterEach(async () => {
  for (const end of ends.splice(0)) await end[Symbol.asyncDispose]();
  for (const flow of running.splice(0)) flow.stop();
});

/** A wire and the socket at its other end. */
async function openWire(): Promise<{ wire: Wire; end: TcpSocket }> {
  const accepted = Promise.withResolvers<Wire>();
  const listener = listenWires(
    { host: "127.0.0.1", port: 0 },
    {
      spareDescriptors: () => 0,
      accept: accepted.resolve,
      exhausted: () => accepted.reject(new Error("no descriptors")),
    },
  );
  const end = await connectTcp(listener.port);
  ends.push(end);
  const wire = await accepted.promise;
  listener.stop();
  return { wire, end };
}

const running: TestFlow[] = [];
const ends: TcpSocket[] = [];

/** One direction from a wire to another; `count` is called for moves inside the kernel alone. */
class TestFlow implements BulkFlow, DuplexOwner {
  failure: unknown;

  constructor(
    readonly source: Wire,
    readonly sink: Wire,
    readonly count: (bytes: number) => void,
  ) {
    source.owner = this;
    sink.owner = { received() {}, drained: () => goOn(this), ended() {}, closed() {} };
    running.push(this);
    startFlow(this);
  }

  received(chunk: Uint8Array): void {
    this.forward(chunk);
    wasRead(this, chunk.byteLength);
  }

  forward(bytes: Uint8Array): void {
    if (!this.sink.write(bytes)) this.source.pause();
  }

  fail(cause: unknown): void {
    this.failure = cause;
    this.stop();
  }

  stop(): void {
    stopFlow(this);
    this.source.reset();
    this.sink.reset();
  }

  drained(): void {}
  ended(): void {}
  closed(): void {}
}

test("a flow whose move fails is failed alone: the others have their turns, and one chain of turns serves them", async () => {
  const defect = new Error("a defect");
  const [from, to, badFrom, badTo] = [await openWire(), await openWire(), await openWire(), await openWire()];
  const chains = countChains();
  const bad = new TestFlow(badFrom.wire, badTo.wire, () => {
    throw defect;
  });
  let moved = 0;
  new TestFlow(from.wire, to.wire, (bytes) => {
    moved += bytes;
  });
  void badFrom.end.send(new Uint8Array(8 * mebibyte)).catch(() => {});
  await from.end.send(new Uint8Array(32 * mebibyte));
  await eventually(
    () => to.end.received === 32 * mebibyte,
    () => `all has arrived (${to.end.received})`,
  );
  await eventually(() => bad.failure !== undefined, "the other flow has failed");
  expect({ failure: bad.failure, moves: moved > 0, chains: chains.most }).toEqual({
    failure: defect,
    moves: true,
    chains: 1,
  });
  chains.stop();
});

/** Watches how many turns are scheduled at the same moment. */
function countChains(): { most: number; stop(): void } {
  const real = globalThis.setImmediate;
  const counted = {
    most: 0,
    stop() {
      globalThis.setImmediate = real;
    },
  };
  let pending = 0;
  globalThis.setImmediate = ((task: () => void) => {
    if (task.name !== "turn") return real(task);
    pending += 1;
    counted.most = Math.max(counted.most, pending);
    return real(() => {
      pending -= 1;
      task();
    });
  }) as typeof setImmediate;
  return counted;
}

test("the pipe of a move that did not end well is thrown away: its bytes reach no other stream", async () => {
  if (libc === undefined) throw new Error("this test needs Linux and glibc");
  const [from, next, to] = [await openWire(), await openWire(), await openWire()];
  for (const { wire } of [from, next, to]) wire.pause();
  await from.end.send(new Uint8Array(100).fill(1));
  await next.end.send(new Uint8Array(50).fill(2));
  const { read } = libc;
  // A sink that takes nothing, so that the bytes have to be read out of the pipe, and a read that gives nothing.
  const closed = 1_000_000;
  libc.read = (() => 0n) as unknown as typeof read;
  await eventually(() => {
    try {
      splice(from.wire.descriptor, closed, 100);
      return false;
    } catch (cause) {
      expect(cause).toEqual(new Error("100 bytes are missing in the pipe"));
      return true;
    }
  }, "the move has failed");
  libc.read = read;
  await eventually(() => splice(next.wire.descriptor, to.wire.descriptor, 100).taken > 0, "the next move has moved");
  await to.end.untilReceived(50);
  expect(to.end.received).toBe(50);
  expect(to.end.bytes()).toEqual(Buffer.alloc(50, 2));
  for (const { wire } of [from, next, to]) wire.reset();
});
