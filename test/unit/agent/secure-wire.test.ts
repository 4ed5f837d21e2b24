import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { listenWires } from "../../../src/agent/net/listen.ts";
import { wires } from "../../../src/agent/net/wire.ts";
import { connectWires, secureWires, WireEnd } from "../../support/secure-wires.ts";

setDefaultTimeout(30_000);

const listening = { spareDescriptors: () => 0, exhausted: () => {} };

describe("a wire that becomes one under TLS", () => {
  test("has the same binding at both ends, another one for each connection, and says that it is secure", async () => {
    await using first = await secureWires();
    await using second = await secureWires();
    const bindings = [first, second].flatMap(({ client, server }) => [client.wire.binding, server.wire.binding]);
    const [one, same, other, sameOther] = bindings.map((binding) => Buffer.from(binding).toString("hex"));
    expect(one).toMatch(/^[0-9a-f]{64}$/);
    expect([one, other]).toEqual([same, sameOther]);
    expect(one).not.toBe(other);
    expect([first.client.wire.isSecure, first.server.wire.isSecure]).toEqual([true, true]);
    await using plain = await connectWires();
    expect([plain.client.isSecure, plain.client.binding.byteLength]).toEqual([false, 0]);
  });

  test("shows nobody on the way what it carries, and its owner no ciphertext", async () => {
    const pair = await connectWires("relay");
    await using _ = pair;
    const passed: Buffer[] = [];
    if (pair.relay !== undefined) pair.relay.tap = (_link, _direction, chunk) => void passed.push(Buffer.from(chunk));
    const [client, server] = [new WireEnd(pair.client), new WireEnd(pair.server)];
    await Promise.all([pair.client.secure("client"), pair.server.secure("server")]);
    pair.client.write(Buffer.from("precious one"));
    await server.untilText("precious one");
    pair.server.write(Buffer.from("precious two"));
    await client.untilText("precious two");
    expect([client.text, server.text]).toEqual(["precious two", "precious one"]);
    const seen = Buffer.concat(passed);
    expect(seen.byteLength).toBeGreaterThan(100);
    expect(seen.includes("precious")).toBe(false);
  });

  test("delivers what came in one flight with the handshake only once there is a binding", async () => {
    const pair = await connectWires();
    await using _ = pair;
    const seen: boolean[] = [];
    const server = new WireEnd(pair.server);
    server.onChunk = () => seen.push(pair.server.isSecure);
    new WireEnd(pair.client);
    void pair.server.secure("server");
    const secured = pair.client.secure("client");
    // Waits in the wire until there are keys.
    pair.client.write(Buffer.from("at once"));
    await secured;
    await server.untilText("at once");
    expect(seen).toEqual([true]);
  });

  test("knows the addresses of both ends, and keeps the peer's after a reset", async () => {
    await using pair = await secureWires();
    const { client, server } = pair;
    expect([client.wire.remote.port, server.wire.remote.port]).toEqual([
      server.wire.local.port,
      client.wire.local.port,
    ]);
    const { remote } = server.wire;
    server.wire.reset();
    expect(server.wire.remote).toEqual(remote);
  });

  test("passes the end of each direction on by itself, after the last byte, and is closed once", async () => {
    const before = wires.open;
    {
      await using pair = await secureWires();
      const { client, server } = pair;
      client.wire.carryStream();
      server.wire.carryStream();
      client.wire.write(Buffer.from("question"));
      client.wire.finish();
      await server.untilEvent("ended");
      expect([server.text, server.events]).toEqual(["question", ["bytes", "ended"]]);
      await Bun.sleep(50);
      server.wire.write(Buffer.from("late answer"));
      server.wire.finish();
      await client.untilEvent("closed");
      await server.untilEvent("closed");
      expect([client.text, client.events]).toEqual(["late answer", ["bytes", "ended", "closed"]]);
      expect(server.events).toEqual(["bytes", "ended", "closed"]);
    }
    expect(wires.open).toBe(before);
  });

  test.each(["client", "server"] as const)("passes a reset of the %s on as one", async (side) => {
    const before = wires.open;
    await using pair = await secureWires();
    const [from, to] = side === "client" ? [pair.client, pair.server] : [pair.server, pair.client];
    from.wire.carryStream();
    from.wire.reset();
    await to.untilEvent("closed");
    expect([from.events, to.events]).toEqual([[], ["closed: ECONNRESET"]]);
    expect([from.wire.open, to.wire.open, wires.open]).toEqual([false, false, before]);
  });

  test("reports a reset that comes while it is paused, and forgets what it held", async () => {
    const before = { ...wires };
    await using pair = await secureWires();
    const { client, server } = pair;
    server.onChunk = () => server.wire.pause();
    client.wire.write(Buffer.from("first"));
    await server.untilText("first");
    client.wire.write(Buffer.from("second"));
    await Bun.sleep(50);
    client.wire.reset();
    await server.untilEvent("closed");
    expect(server.events).toEqual(["bytes", "closed: ECONNRESET"]);
    expect(wires).toEqual(before);
  });

  test("is gone after a reset from here while it is paused over bytes that nobody took", async () => {
    const before = { ...wires };
    await using pair = await secureWires();
    const { client, server } = pair;
    server.wire.pause();
    client.wire.write(Buffer.alloc(100_000));
    await Bun.sleep(50);
    server.wire.reset();
    await client.untilEvent("closed");
    expect([server.events, client.events]).toEqual([[], ["closed: ECONNRESET"]]);
    expect(wires).toEqual(before);
  });

  test("takes a write that meets the reset for the reset that it is", async () => {
    const before = wires.open;
    await using pair = await secureWires();
    const { client, server } = pair;
    server.wire.pause();
    client.wire.reset();
    // The kernel has the reset, the event loop has not looked yet.
    Bun.sleepSync(20);
    server.wire.write(Buffer.from("into the void"));
    await server.untilEvent("closed");
    expect(server.events).toHaveLength(1);
    expect(server.events[0]).toMatch(/^closed: (ECONNRESET|ConnectionReset)$/);
    expect(wires.open).toBe(before);
  });

  test("ends when somebody changes a byte on the way, at both ends and without a word of what came", async () => {
    await using pair = await secureWires("relay");
    const { client, server, relay } = pair;
    const [link] = relay?.links ?? [];
    if (relay === undefined || link === undefined) throw new Error("there is a relay");
    // Not a record of TLS, and behind it one that is.
    await link.server?.send(Buffer.from([0x17, 3, 3, 0, 20, ...Array(20).fill(7)]));
    client.wire.write(Buffer.from("genuine"));
    await server.untilEvent("closed");
    await client.untilEvent("closed");
    expect(server.text).toBe("");
    expect(server.events.at(-1)).toMatch(/^closed/);
  });

  test("that is cut in the middle of a record reports nothing of it, and an end that looks like any other", async () => {
    await using pair = await secureWires("relay");
    const { client, server, relay } = pair;
    relay?.cutAfter(30, "up", "fin", relay.links);
    client.wire.write(Buffer.from("a record that is longer than thirty bytes in all"));
    await server.until(() => server.events.length > 0, "the end is reported");
    expect([server.text, server.events[0]]).toEqual(["", "ended"]);
  });

  test("cannot tell a FIN that somebody in between sent from the peer's own", async () => {
    await using pair = await secureWires("relay");
    const { client, server, relay } = pair;
    client.wire.write(Buffer.from("half of it"));
    await server.untilText("half of it");
    relay?.cutAfter(0, "up", "fin", relay.links);
    await server.untilEvent("ended");
    expect(server.events).toEqual(["bytes", "ended"]);
  });
});

describe("a paused wire under TLS", () => {
  /** A peer of its own process, so that this event loop may stand still while everything comes. */
  const burst = (port: number, end: "end" | "stay") => `
    const c = require("node:net").connect(${port}, "127.0.0.1");
    const t = require("node:tls").connect({ socket: c, rejectUnauthorized: false }, () => {
      t.write("x".repeat(50000));
      ${end === "end" ? "t.end();" : ""}
    });
    t.on("error", () => {});
    setTimeout(() => {}, 20000);
  `;

  test.each(["end", "stay"] as const)("reports nothing, whatever came with the bytes before (%s)", async (end) => {
    const accepted = Promise.withResolvers<WireEnd>();
    const listener = listenWires(
      { host: "127.0.0.1", port: 0 },
      {
        ...listening,
        accept: (wire) => {
          const owner = new WireEnd(wire);
          void wire.secure("server").then(() => {
            wire.pause();
            accepted.resolve(owner);
          });
        },
      },
    );
    await using child = Bun.spawn([process.execPath, "-e", burst(listener.port, end)]);
    const server = await accepted.promise;
    for (let turn = 0; turn < 20; turn += 1) {
      Bun.sleepSync(10);
      await Bun.sleep(1);
    }
    expect(server.events).toEqual([]);
    // Paused anew by the first report: the rest waits once more.
    server.onChunk = () => server.wire.pause();
    server.wire.resume();
    await server.untilEvent("bytes");
    await Bun.sleep(50);
    expect(server.events).toEqual(["bytes"]);
    server.onChunk = undefined;
    server.wire.resume();
    await server.until(() => server.bytes === 50_000, "all bytes arrive");
    if (end === "end") await server.untilEvent("ended");
    expect(server.text).toBe("x".repeat(50_000));
    server.wire.reset();
    child.kill();
    listener.stop();
  });

  test("that the peer has closed meanwhile reports bytes, end and close in this order, once it is resumed", async () => {
    const before = { ...wires };
    await using pair = await secureWires();
    const { client, server } = pair;
    server.wire.finish();
    await client.untilEvent("ended");
    server.onChunk = () => server.wire.pause();
    client.wire.write(Buffer.from("last words"));
    client.wire.finish();
    await server.untilText("last words");
    await Bun.sleep(100);
    expect(server.events).toEqual(["bytes"]);
    server.wire.resume();
    await server.untilEvent("closed");
    expect(server.events).toEqual(["bytes", "ended", "closed"]);
    await client.untilEvent("closed");
    expect(wires).toEqual(before);
  });
});

describe("large transfers under TLS", () => {
  test("arrive whole in both directions at once, with a slow reader at each end", async () => {
    const before = { ...wires };
    await using pair = await secureWires("directly", "count");
    const size = 40 * 1024 * 1024;
    const hashes = { client: new Bun.CryptoHasher("sha256"), server: new Bun.CryptoHasher("sha256") };
    const block = Buffer.from(Array.from({ length: 100_003 }, (_, at) => (at * 7 + (at >> 8)) & 0xff));
    let mostBacklog = 0;
    let reportedPaused = 0;
    for (const side of ["client", "server"] as const) {
      const end = pair[side];
      let left = size;
      const send = () => {
        while (left > 0) {
          const chunk = block.subarray(0, Math.min(left, block.byteLength));
          left -= chunk.byteLength;
          const isTaken = end.wire.write(chunk);
          mostBacklog = Math.max(mostBacklog, end.wire.backlog);
          if (!isTaken) return;
        }
        end.wire.finish();
      };
      end.onDrained = send;
      let isPaused = false;
      end.onChunk = (chunk) => {
        if (isPaused) reportedPaused += 1;
        hashes[side].update(chunk);
        if (end.bytes % 3 !== 0) return;
        isPaused = true;
        end.wire.pause();
        setTimeout(() => {
          isPaused = false;
          end.wire.resume();
        }, 2);
      };
      send();
    }
    await pair.client.untilEvent("closed", 25_000);
    await pair.server.untilEvent("closed", 25_000);
    const expected = new Bun.CryptoHasher("sha256");
    for (let left = size; left > 0; left -= block.byteLength)
      expected.update(block.subarray(0, Math.min(left, block.byteLength)));
    const digest = expected.digest("hex");
    expect([hashes.client.digest("hex"), hashes.server.digest("hex"), reportedPaused]).toEqual([digest, digest, 0]);
    expect(mostBacklog).toBeLessThanOrEqual(block.byteLength);
    expect([pair.client.events.slice(-2), pair.server.events.slice(-2)]).toEqual([
      ["ended", "closed"],
      ["ended", "closed"],
    ]);
    expect(wires).toEqual(before);
  });
});
