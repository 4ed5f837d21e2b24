import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { TcpSocket } from "../support/tcp.ts";
import { connectTcp, listenTcp } from "../support/tcp-ends.ts";
import { type Implementation, type ProxyProtocol, untilMetric, untilReady } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";

setDefaultTimeout(60_000);

const signature = Buffer.from("0d0a0d0a000d0a515549540a", "hex");

/** A header of version 2 (haproxy's proxy-protocol.txt, section 2.2): `body` is the address block with what follows it. */
function version2(command: number, family: number, body: Buffer): Buffer {
  const head = Buffer.from([0x20 | command, family, body.byteLength >> 8, body.byteLength & 0xff]);
  return Buffer.concat([signature, head, body]);
}

function addresses4(from: string, to: string, fromPort: number, toPort: number): Buffer {
  const octets = [...from.split("."), ...to.split(".")].map(Number);
  return Buffer.from([...octets, fromPort >> 8, fromPort & 0xff, toPort >> 8, toPort & 0xff]);
}

const tcp4 = 0x11;
const tcp6 = 0x21;

interface Setting {
  send: ProxyProtocol;
  accept: boolean;
}

async function openWith(implementation: Implementation, { send, accept }: Setting) {
  await using stack = new AsyncDisposableStack();
  const backend = stack.use(await listenTcp());
  const proxy = stack.use(await implementation.startProxy({ acceptProxyProtocol: accept }));
  const target = stack.use(
    await implementation.startTarget({ proxy: proxy.rendezvous, backend, sendProxyProtocol: send }),
  );
  await untilReady(target);
  await untilReady(proxy);
  const owned = stack.move();
  return {
    backend,
    proxy,
    connect: () => connectTcp(proxy.consumers.port),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** What the backend has read once the consumer has sent everything and FIN. */
async function readByBackend(server: TcpSocket): Promise<Buffer> {
  await server.untilFin();
  return server.bytes();
}

function sending(implementation: Implementation): void {
  test("the backend hears the consumer's address in a header of version 1", async () => {
    await using tunnel = await openWith(implementation, { send: "v1", accept: false });
    const consumer = await tunnel.connect();
    await consumer.send("hello");
    consumer.finish();
    const bytes = await readByBackend(await tunnel.backend.accept());
    const { port } = tunnel.proxy.consumers;
    expect(bytes.toString()).toBe(`PROXY TCP4 127.0.0.1 127.0.0.1 ${consumer.localPort} ${port}\r\nhello`);
  });

  test("the backend hears the consumer's address in a header of version 2", async () => {
    await using tunnel = await openWith(implementation, { send: "v2", accept: false });
    const consumer = await tunnel.connect();
    await consumer.send("hello");
    consumer.finish();
    const bytes = await readByBackend(await tunnel.backend.accept());
    const body = addresses4("127.0.0.1", "127.0.0.1", consumer.localPort, tunnel.proxy.consumers.port);
    expect(bytes.toString("hex")).toBe(Buffer.concat([version2(1, tcp4, body), Buffer.from("hello")]).toString("hex"));
  });

  test("the header reaches the backend before a consumer says anything", async () => {
    await using tunnel = await openWith(implementation, { send: "v1", accept: false });
    const consumer = await tunnel.connect();
    const server = await tunnel.backend.accept();
    const header = `PROXY TCP4 127.0.0.1 127.0.0.1 ${consumer.localPort} ${tunnel.proxy.consumers.port}\r\n`;
    await server.untilReceived(header.length);
    expect(server.text()).toBe(header);
  });
}

const v1Header = "PROXY TCP4 203.0.113.7 198.51.100.9 40000 443\r\n";
const v2Header = version2(1, tcp4, addresses4("203.0.113.7", "198.51.100.9", 40_000, 443));
const v2WithExtras = version2(
  1,
  tcp4,
  Buffer.concat([addresses4("203.0.113.7", "198.51.100.9", 40_000, 443), Buffer.from([4, 0, 2, 1, 1])]),
);
/** Behind the addresses a field of type 0xe0, which is free for anybody's use. */
const v2OfFullLength = version2(
  1,
  tcp4,
  Buffer.concat([
    addresses4("203.0.113.7", "198.51.100.9", 40_000, 443),
    Buffer.from([0xe0, 0xff, 0xf0]),
    Buffer.alloc(0xfff0, "x"),
  ]),
);
const v6Body = Buffer.concat([
  Buffer.from("20010db8000000000000000000000007", "hex"),
  Buffer.from("20010db8000000000000000000000009", "hex"),
  Buffer.from([0x9c, 0x40, 0x01, 0xbb]),
]);

const accepted: { name: string; header: string | Buffer; told: string }[] = [
  { name: "version 1", header: v1Header, told: v1Header },
  { name: "version 2", header: v2Header, told: v1Header },
  { name: "version 2 with further fields", header: v2WithExtras, told: v1Header },
  { name: "version 2 that is as long as the format allows", header: v2OfFullLength, told: v1Header },
  {
    name: "version 1 over IPv6",
    header: "PROXY TCP6 2001:db8::7 2001:db8::9 40000 443\r\n",
    told: "PROXY TCP6 2001:db8::7 2001:db8::9 40000 443\r\n",
  },
  {
    name: "version 2 over IPv6",
    header: version2(1, tcp6, v6Body),
    told: "PROXY TCP6 2001:db8::7 2001:db8::9 40000 443\r\n",
  },
];

const connectionItself: { name: string; header: string | Buffer }[] = [
  { name: "version 1 of an unknown family", header: "PROXY UNKNOWN\r\n" },
  { name: "version 2 of a health check", header: version2(0, 0, Buffer.alloc(0)) },
  { name: "version 2 of a health check with addresses", header: version2(0, tcp4, Buffer.alloc(12)) },
  { name: "version 2 of a health check with a large body", header: version2(0, 0, Buffer.alloc(0xffff)) },
];

const malformed: { name: string; bytes: string | Buffer }[] = [
  { name: "no header", bytes: "GET / HTTP/1.0\r\n\r\n" },
  { name: "a port that is none", bytes: "PROXY TCP4 203.0.113.7 198.51.100.9 99999 443\r\nhello" },
  { name: "an address that is none", bytes: "PROXY TCP4 203.0.113.777 198.51.100.9 40000 443\r\nhello" },
  { name: "a line that does not end", bytes: `PROXY TCP4 ${"1".repeat(200)}` },
  {
    name: "a version that does not exist",
    bytes: Buffer.concat([signature, Buffer.from([0x31, 0x11, 0, 12]), Buffer.alloc(12)]),
  },
  { name: "an address block that is too short", bytes: version2(1, tcp4, Buffer.alloc(4)) },
  { name: "a command that does not exist", bytes: version2(2, tcp4, addresses4("203.0.113.7", "198.51.100.9", 1, 2)) },
];

function accepting(implementation: Implementation): void {
  test.each(accepted)(
    "the address in a header of $name is taken from the load balancer and told to the backend",
    async ({ header, told }) => {
      await using tunnel = await openWith(implementation, { send: "v1", accept: true });
      const consumer = await tunnel.connect();
      await consumer.send(Buffer.concat([Buffer.from(header), Buffer.from("hello")]));
      consumer.finish();
      expect((await readByBackend(await tunnel.backend.accept())).toString()).toBe(`${told}hello`);
    },
  );

  test("what follows the longest header arrives whole, however it was cut", async () => {
    await using tunnel = await openWith(implementation, { send: "off", accept: true });
    const consumer = await tunnel.connect();
    for (let at = 0; at < v2OfFullLength.byteLength; at += 9001) {
      await consumer.send(v2OfFullLength.subarray(at, at + 9001));
      await Bun.sleep(1);
    }
    const upload = Buffer.alloc(300_000, "all of it");
    await consumer.send(upload);
    consumer.finish();
    expect((await readByBackend(await tunnel.backend.accept())).equals(upload)).toBe(true);
  });

  test("a header is removed when the backend is not to see one", async () => {
    await using tunnel = await openWith(implementation, { send: "off", accept: true });
    const consumer = await tunnel.connect();
    await consumer.send(`${v1Header}hello`);
    consumer.finish();
    expect((await readByBackend(await tunnel.backend.accept())).toString()).toBe("hello");
  });

  test("a header that comes byte by byte is understood", async () => {
    await using tunnel = await openWith(implementation, { send: "v1", accept: true });
    const consumer = await tunnel.connect();
    for (const byte of v2Header) {
      await consumer.send(new Uint8Array([byte]));
      await Bun.sleep(1);
    }
    await consumer.send("hello");
    consumer.finish();
    expect((await readByBackend(await tunnel.backend.accept())).toString()).toBe(`${v1Header}hello`);
  });

  test.each(connectionItself)("a header of $name stands for the connection itself", async ({ header }) => {
    await using tunnel = await openWith(implementation, { send: "off", accept: true });
    const consumer = await tunnel.connect();
    await consumer.send(Buffer.concat([Buffer.from(header), Buffer.from("hello")]));
    consumer.finish();
    expect((await readByBackend(await tunnel.backend.accept())).toString()).toBe("hello");
  });

  test.each(malformed)(
    "a connection with $name is reset, counted, and never reaches the backend",
    async ({ bytes }) => {
      await using tunnel = await openWith(implementation, { send: "off", accept: true });
      const consumer = await tunnel.connect();
      consumer.send(bytes).catch(() => {});
      await consumer.untilReset(10_000);
      await untilMetric(tunnel.proxy, "netaminity_streams_total", { result: "bad_header" }, (count) => count === 1);
      expect({ received: consumer.received, backends: tunnel.backend.sockets.length }).toEqual({
        received: 0,
        backends: 0,
      });
    },
  );

  test("a connection that never sends its header is reset", async () => {
    await using tunnel = await openWith(implementation, { send: "off", accept: true });
    const consumer = await tunnel.connect();
    await consumer.untilReset(15_000);
    await untilMetric(tunnel.proxy, "netaminity_streams_total", { result: "bad_header" }, (count) => count === 1);
  });

  test("without the setting a header is a part of the stream", async () => {
    await using tunnel = await openWith(implementation, { send: "off", accept: false });
    const consumer = await tunnel.connect();
    await consumer.send(`${v1Header}hello`);
    consumer.finish();
    expect((await readByBackend(await tunnel.backend.accept())).toString()).toBe(`${v1Header}hello`);
  });
}

for (const implementation of [inProcess, compiled]) {
  describe(implementation.name, () => {
    sending(implementation);
    accepting(implementation);
  });
}
