import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { makeIdentity } from "../../../src/agent/net/certificate.ts";
import { connectWire } from "../../../src/agent/net/connect.ts";
import { listenWires } from "../../../src/agent/net/listen.ts";
import { type Wire, wires } from "../../../src/agent/net/wire.ts";
import { connectWires, outcomeOf, secureWires, WireEnd } from "../../support/secure-wires.ts";
import { unusedPort } from "../../support/tcp-ends.ts";
import { eventually } from "../../support/tcp-wait.ts";

setDefaultTimeout(30_000);

const net = join(import.meta.dir, "../../../src/agent/net");
const listening = { spareDescriptors: () => 0, exhausted: () => {} };

describe("a TLS handshake fails, and leaves nothing behind,", () => {
  test("when the peer goes on in plain text", async () => {
    const before = wires.open;
    await using pair = await connectWires();
    const server = new WireEnd(pair.server);
    const client = new WireEnd(pair.client);
    const attempt = outcomeOf(pair.server.secure("server"));
    pair.client.write(Buffer.from("GET / HTTP/1.1\r\n\r\n"));
    expect(await attempt).not.toBe("secure");
    await client.untilEvent("closed");
    expect([server.events, pair.server.open, wires.open]).toEqual([[], false, before]);
  });

  test("when the server goes on in plain text", async () => {
    await using pair = await connectWires();
    const client = new WireEnd(pair.client);
    new WireEnd(pair.server);
    const attempt = outcomeOf(pair.client.secure("client"));
    pair.server.write(Buffer.from("220 no TLS here\r\n"));
    expect(await attempt).not.toBe("secure");
    expect([client.events, pair.client.open]).toEqual([[], false]);
  });

  test.each(["client", "server"] as const)("at the %s after its deadline, when the peer says nothing", async (side) => {
    await using pair = await connectWires();
    const [wire, peer] = side === "client" ? [pair.client, pair.server] : [pair.server, pair.client];
    const owner = new WireEnd(wire);
    const other = new WireEnd(peer);
    expect(await outcomeOf(wire.secure(side))).toBe("no end of the handshake within 3000 ms");
    await other.untilEvent("closed");
    expect([owner.events, wire.open]).toEqual([[], false]);
  });

  test.each(["fin", "reset"] as const)("when the peer leaves in the middle of it (%s)", async (how) => {
    await using pair = await connectWires("relay");
    const owner = new WireEnd(pair.client);
    new WireEnd(pair.server);
    pair.relay?.cutAfter(100, "down", how, pair.relay.links);
    const server = outcomeOf(pair.server.secure("server"));
    expect(await outcomeOf(pair.client.secure("client"))).not.toBe("secure");
    expect(await server).not.toBe("secure");
    expect([owner.events, pair.client.open, pair.server.open]).toEqual([[], false, false]);
  });

  test("when there is TLS already", async () => {
    await using pair = await secureWires();
    expect(await outcomeOf(pair.client.wire.secure("client"))).toBe("the connection is in use");
    expect(pair.client.wire.open).toBe(false);
    await pair.server.untilEvent("closed");
  });

  test("when its wire is reset meanwhile", async () => {
    await using pair = await connectWires();
    const attempt = outcomeOf(pair.client.secure("client"));
    pair.client.reset();
    expect(await attempt).toBe("given up");
    expect(pair.client.open).toBe(false);
  });

  /** A client or a server of another library, which goes on under TLS up to some version after one word of each. */
  const stranger = (side: "client" | "server", port: number, maxVersion: string, identity: object) =>
    side === "client"
      ? `const c = require("node:net").connect(${port}, "127.0.0.1", () => c.write("w"));
         c.once("data", () => {
           const t = require("node:tls").connect({ socket: c, rejectUnauthorized: false, minVersion: "TLSv1.2", maxVersion: "${maxVersion}" }, () => t.write("inside"));
           t.on("error", () => {});
         });`
      : `require("node:net").createServer((c) => {
           c.once("data", () => {
             const tls = require("node:tls");
             const secureContext = tls.createSecureContext({ ...${JSON.stringify(identity)}, minVersion: "TLSv1.2", maxVersion: "${maxVersion}" });
             const t = new tls.TLSSocket(c, { isServer: true, secureContext });
             t.on("error", () => {});
             t.on("secure", () => t.write("inside"));
             c.write("w");
           });
         }).listen(${port}, "127.0.0.1", () => console.log("listening"));`;

  test.each([
    ["client", "TLSv1.2"],
    ["client", "TLSv1.3"],
    ["server", "TLSv1.2"],
    ["server", "TLSv1.3"],
  ] as const)("when the peer, a %s, knows %s at most, unless that is 1.3", async (side, maxVersion) => {
    const port = unusedPort();
    const ready = Promise.withResolvers<Wire>();
    const listener =
      side === "client" ? listenWires({ host: "127.0.0.1", port }, { ...listening, accept: ready.resolve }) : undefined;
    await using child = Bun.spawn([process.execPath, "-e", stranger(side, port, maxVersion, makeIdentity())], {
      stdout: "pipe",
    });
    if (side === "server") {
      await child.stdout.getReader().read();
      ready.resolve(await connectWire("127.0.0.1", port).wire);
    }
    const wire = await ready.promise;
    const owner = new WireEnd(wire);
    if (side === "server") wire.write(Buffer.from("w"));
    await owner.untilText("w");
    if (side === "client") wire.write(Buffer.from("w"));
    const result = await outcomeOf(wire.secure(side === "client" ? "server" : "client"));
    if (maxVersion === "TLSv1.3") {
      expect(result).toBe("secure");
      await owner.untilText("winside");
    } else expect([result === "secure", wire.open, owner.text]).toEqual([false, false, "w"]);
    wire.reset();
    listener?.stop();
    child.kill();
  });
});

/** A process that connects, goes on under TLS, does something with its wire, says so and dies. */
const dying = (port: number, act: string) => `
  const { connectWire } = await import(${JSON.stringify(join(net, "connect.ts"))});
  const wire = await connectWire("127.0.0.1", ${port}).wire;
  await wire.secure("client");
  wire.write(Buffer.from("last words"));
  ${act};
  await Bun.sleep(100);
  process.kill(process.pid, "SIGKILL");
`;

test.each([
  ["carries a stream", "wire.carryStream()", ["bytes", "closed: ECONNRESET"]],
  ["carries none", "", ["bytes", "ended"]],
  ["has sent its FIN", "wire.carryStream(); wire.finish()", ["bytes", "ended"]],
])("the death of a process is what it was without TLS for a wire that %s", async (_, act, events) => {
  const accepted = Promise.withResolvers<Wire>();
  const listener = listenWires({ host: "127.0.0.1", port: 0 }, { ...listening, accept: accepted.resolve });
  await using child = Bun.spawn([process.execPath, "-e", dying(listener.port, act)]);
  const wire = await accepted.promise;
  const end = new WireEnd(wire);
  await wire.secure("server");
  await end.untilEvent(events.at(-1) ?? "");
  await child.exited;
  expect(end.events).toEqual(events);
  wire.reset();
  listener.stop();
});

test("the kernel asks a silent peer under TLS, too", async () => {
  await using pair = await secureWires();
  const { wire } = pair.client;
  wire.keepAlive(15);
  const hex = ({ port }: { port: number }) => `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const timer = async () => {
    const rows = (await Bun.file("/proc/net/tcp").text()).split("\n").map((row) => row.trim().split(/\s+/));
    const row = rows.find(([, from, to]) => from?.endsWith(hex(wire.local)) && to?.endsWith(hex(wire.remote)));
    return row?.[5]?.split(":")[0];
  };
  // 02 is keepalive (proc(5)), once the handshake's last bytes are acknowledged.
  await eventually(async () => (await timer()) === "02", "the timer is that of keepalive");
});

test("the certificate can be read, is signed by its own key, and is another one each time", () => {
  const [one, other] = [makeIdentity(), makeIdentity()];
  const certificate = new X509Certificate(one.cert);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.subject).toBe("CN=netaminity");
  expect(certificate.publicKey.asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
  expect(other.cert).not.toBe(one.cert);
  expect(new X509Certificate(other.cert).serialNumber).not.toBe(certificate.serialNumber);
});

test("a byte that is changed on the way, wherever, never comes out and never is anybody's defect", async () => {
  const before = wires.open;
  const rounds = Array.from({ length: 200 }, async (_, round) => {
    await using pair = await connectWires("relay");
    const [client, server] = [new WireEnd(pair.client), new WireEnd(pair.server)];
    const changed = { direction: round % 2 === 0 ? "up" : "down", at: Math.floor((round / 200) * 1500) };
    const passed = { up: 0, down: 0 };
    if (pair.relay !== undefined) {
      pair.relay.tap = (_link, direction, chunk) => {
        const index = changed.at - passed[direction];
        passed[direction] += chunk.byteLength;
        const byte = chunk[index];
        if (direction === changed.direction && byte !== undefined) chunk[index] = byte ^ (1 << (round % 8));
      };
    }
    const attempts = [outcomeOf(pair.client.secure("client")), outcomeOf(pair.server.secure("server"))];
    const [one, other] = await Promise.all(attempts);
    const text = "precious ".repeat(150);
    if (one === "secure") pair.client.write(Buffer.from(text));
    if (other === "secure") pair.server.write(Buffer.from(text));
    const isOver = ({ events }: WireEnd) => events.some((event) => event.startsWith("closed"));
    const end = performance.now() + 1000;
    while (performance.now() < end && pair.client.open && pair.server.open && !isOver(client) && !isOver(server)) {
      if (client.bytes === text.length && server.bytes === text.length) break;
      await Bun.sleep(5);
    }
    for (const told of [client.text, server.text]) expect(text.startsWith(told)).toBe(true);
    return one === "secure" && other === "secure" && client.bytes === text.length && server.bytes === text.length;
  });
  const intact = (await Promise.all(rounds)).filter((isIntact) => isIntact).length;
  // Only a change that TLS itself ignores leaves everything as it was, as in the version of a record.
  expect(intact).toBeLessThan(20);
  expect(wires.open).toBe(before);
});
