/** One data connection between two ends of this process: what a stream's end does to it, in all orders. */
import { describe, expect, test } from "bun:test";
import { type DataConnections, openDataConnections, StreamEnd } from "../../support/data-connections.ts";

const small = new Uint8Array(1000);
/** More than a direction carries in frames. */
const long = new Uint8Array(300 * 1024);
const sides = ["left", "right"] as const;
type Streams = Awaited<ReturnType<DataConnections["open"]>>;

const other = ({ left, right }: Streams, end: StreamEnd) => (end === left ? right : left);

/** Both sides have the connection back, once for each of the streams so far, and the next stream works. */
async function isUsedAgain(connections: DataConnections, streams: number): Promise<void> {
  const { owners, open } = connections;
  for (const owner of [owners.proxy, owners.target]) await owner.untilTold("free", streams);
  const { left, right } = await open();
  left.channel.write(Buffer.from("question"));
  right.channel.write(Buffer.from("answer"));
  await Promise.all([right.untilBytes(8), left.untilBytes(6)]);
  expect([right.text, left.text]).toEqual(["question", "answer"]);
  for (const owner of [owners.proxy, owners.target]) expect(owner.count("free")).toBe(streams);
}

/** Both sides have given the connection up, and neither has it back. */
async function isNotUsedAgain({ proxy, target, owners }: DataConnections): Promise<void> {
  const gone = () => !proxy.wire.open && !target.wire.open;
  // The last event of a connection may come without a word to its owner.
  for (let turn = 0; turn < 2000 && !gone(); turn += 1) await Bun.sleep(1);
  expect({ gone: gone(), free: [owners.proxy.count("free"), owners.target.count("free")] }).toEqual({
    gone: true,
    free: [0, 0],
  });
}

describe("a connection comes back once, and carries the next stream", () => {
  test.each(sides)("when the %s end has ended first", async (side) => {
    await using connections = await openDataConnections();
    for (let streams = 1; streams < 20; streams += 1) {
      const both = await connections.open();
      const first = both[side];
      const second = other(both, first);
      first.channel.write(small);
      first.channel.finish();
      await second.untilEvent("ended");
      second.channel.write(small);
      second.channel.finish();
      await Promise.all([first.untilEvent("complete"), second.untilEvent("complete")]);
      expect([first.bytes, second.bytes]).toEqual([small.byteLength, small.byteLength]);
      for (const owner of [connections.owners.proxy, connections.owners.target]) await owner.untilTold("free", streams);
    }
    await isUsedAgain(connections, 19);
  });

  test("ten thousand times in a row", async () => {
    await using connections = await openDataConnections();
    const { owners, proxy } = connections;
    for (let turn = 0; turn < 10_000; turn += 1) {
      const left = new StreamEnd(proxy.begin({ from: "", to: "" }));
      left.channel.write(small);
      left.channel.finish();
      const right = await owners.target.stream(turn);
      right.channel.confirm();
      await right.untilEvent("ended");
      right.channel.finish();
      await Promise.all([left.untilEvent("complete"), right.untilEvent("complete")]);
      if (right.bytes !== small.byteLength) throw new Error(`stream ${turn} brought ${right.bytes} bytes`);
    }
    expect([owners.proxy.count("free"), owners.target.count("free")]).toEqual([10_000, 10_000]);
    expect(proxy.wire.open).toBe(true);
  }, 60_000);

  test("when both ends have ended at once", async () => {
    await using connections = await openDataConnections();
    const { left, right } = await connections.open();
    left.channel.finish();
    right.channel.finish();
    await Promise.all([left.untilEvent("complete"), right.untilEvent("complete")]);
    await isUsedAgain(connections, 1);
  });

  test.each(sides)("when the %s end resets", async (side) => {
    await using connections = await openDataConnections();
    const both = await connections.open();
    both[side].channel.write(small);
    both[side].channel.reset();
    await other(both, both[side]).untilEvent("cut");
    await isUsedAgain(connections, 1);
  });

  test("when both ends reset at once", async () => {
    await using connections = await openDataConnections();
    const { left, right } = await connections.open();
    left.channel.reset();
    right.channel.reset();
    await isUsedAgain(connections, 1);
    expect([left.events, right.events]).toEqual([[], []]);
  });

  for (const side of sides) {
    test(`when a reset of the ${side} end crosses the other end's last word`, async () => {
      await using connections = await openDataConnections();
      const both = await connections.open();
      const resets = both[side];
      const ends = other(both, resets);
      resets.channel.finish();
      await ends.untilEvent("ended");
      // Neither has read what the other says now.
      ends.channel.finish();
      resets.channel.reset();
      await isUsedAgain(connections, 1);
      expect(ends.fate).toBe("complete");
    });

    test(`when a reset of the ${side} end crosses the other end's first of two last words`, async () => {
      await using connections = await openDataConnections();
      const both = await connections.open();
      const resets = both[side];
      const ends = other(both, resets);
      ends.channel.finish();
      resets.channel.reset();
      await ends.untilEvent("cut");
      await isUsedAgain(connections, 1);
    });
  }

  test("when it is refused, whatever the consumer does meanwhile", async () => {
    const meanwhile: ((left: StreamEnd) => void)[] = [
      () => {},
      ({ channel }) => channel.finish(),
      ({ channel }) => channel.reset(),
      ({ channel }) => {
        channel.write(small);
        channel.finish();
      },
    ];
    await using connections = await openDataConnections();
    const { owners, proxy } = connections;
    for (const [index, act] of meanwhile.entries()) {
      const channel = proxy.begin({ from: "", to: "" });
      channel.flush();
      const right = await owners.target.stream(index);
      right.channel.refuse({ result: "refused", reason: "nobody is there" });
      act(new StreamEnd(channel));
      for (const owner of [owners.proxy, owners.target]) await owner.untilTold("free", index + 1);
    }
    expect(owners.proxy.events.filter((event) => event !== "free")).toEqual(
      // One that had been reset is not told.
      ["refused: nobody is there", "refused: nobody is there", "refused: nobody is there"],
    );
  });
});

describe("a connection whose stream turned raw is not used again", () => {
  for (const side of sides) {
    test(`when the ${side} end was long and ended first`, async () => {
      await using connections = await openDataConnections();
      const both = await connections.open();
      const first = both[side];
      const second = other(both, first);
      first.channel.write(long);
      first.channel.write(small);
      first.channel.finish();
      await second.untilEvent("ended");
      expect(second.bytes).toBe(long.byteLength + small.byteLength);
      second.channel.write(small);
      second.channel.finish();
      await Promise.all([first.untilEvent("complete"), second.untilEvent("complete")]);
      expect(first.bytes).toBe(small.byteLength);
      await isNotUsedAgain(connections);
    });

    test(`when the ${side} end was long and ended last`, async () => {
      await using connections = await openDataConnections();
      const both = await connections.open();
      const first = both[side];
      const second = other(both, first);
      second.channel.finish();
      await first.untilEvent("ended");
      first.channel.write(long);
      first.channel.write(small);
      first.channel.finish();
      await Promise.all([first.untilEvent("complete"), second.untilEvent("complete")]);
      expect(second.bytes).toBe(long.byteLength + small.byteLength);
      await isNotUsedAgain(connections);
    });

    test(`when the ${side} end was long, ended, and the other one resets`, async () => {
      await using connections = await openDataConnections();
      const both = await connections.open();
      both[side].channel.write(long);
      both[side].channel.finish();
      await other(both, both[side]).untilEvent("ended");
      other(both, both[side]).channel.reset();
      await both[side].untilEvent("cut");
      await isNotUsedAgain(connections);
    });

    test(`when the ${side} end has turned raw, ended, and resets`, async () => {
      await using connections = await openDataConnections();
      const both = await connections.open();
      both[side].channel.turnRaw();
      both[side].channel.write(small);
      both[side].channel.finish();
      await other(both, both[side]).untilEvent("ended");
      both[side].channel.reset();
      await other(both, both[side]).untilEvent("cut");
      await isNotUsedAgain(connections);
    });

    test(`when the ${side} end turns raw while the other one resets`, async () => {
      await using connections = await openDataConnections();
      const both = await connections.open();
      both[side].channel.turnRaw();
      other(both, both[side]).channel.reset();
      await both[side].untilEvent("cut");
      await isNotUsedAgain(connections);
    });

    test(`when the ${side} end turns raw while the other one ends`, async () => {
      await using connections = await openDataConnections();
      const both = await connections.open();
      both[side].channel.turnRaw();
      other(both, both[side]).channel.finish();
      await both[side].untilEvent("ended");
      both[side].channel.write(small);
      both[side].channel.finish();
      await Promise.all([both.left.untilEvent("complete"), both.right.untilEvent("complete")]);
      expect(other(both, both[side]).bytes).toBe(small.byteLength);
      await isNotUsedAgain(connections);
    });
  }

  test("when both directions were long", async () => {
    await using connections = await openDataConnections();
    const { left, right } = await connections.open();
    for (const { channel } of [left, right]) {
      channel.write(long);
      channel.write(small);
      channel.finish();
    }
    await Promise.all([left.untilEvent("complete"), right.untilEvent("complete")]);
    const all = long.byteLength + small.byteLength;
    expect([left.bytes, right.bytes]).toEqual([all, all]);
    await isNotUsedAgain(connections);
  });
});
