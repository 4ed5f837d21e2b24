import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { TcpSocket } from "../support/tcp.ts";
import { connectTcp, listenTcp } from "../support/tcp-ends.ts";
import { type Implementation, metricsOf, type RunningProxy, untilMetric, untilReady } from "../support/tunnel.ts";
import { compiled } from "../support/tunnel-compiled.ts";
import { inProcess } from "../support/tunnel-inprocess.ts";

setDefaultTimeout(60_000);

const local = Buffer.from("0d0a0d0a000d0a515549540a20000000", "hex");
const unknown = Buffer.from("PROXY UNKNOWN\r\n");
/** What version 1 recommends for checks: the addresses of the connection itself. */
const itself = (socket: TcpSocket) =>
  Buffer.from(`PROXY TCP4 127.0.0.1 127.0.0.1 ${socket.localPort} ${socket.remotePort}\r\n`);

const checks: { name: string; header: (socket: TcpSocket) => Buffer }[] = [
  { name: "without a byte", header: () => Buffer.alloc(0) },
  { name: "after a header of a load balancer's own connection", header: () => local },
  { name: "after a header of an unknown connection", header: () => unknown },
  { name: "after a header with the connection's own addresses", header: itself },
];

/** Lets the proxy see all of what `act` does at once, wherever the scheduler puts the two processes. */
function atOnce({ process }: RunningProxy, act: () => void): void {
  process?.signal("SIGSTOP");
  act();
  process?.signal("SIGCONT");
}

async function check(proxy: RunningProxy, header: (socket: TcpSocket) => Buffer, ending: "FIN" | "RST") {
  const socket = await connectTcp(proxy.consumers.port);
  atOnce(proxy, () => {
    const bytes = header(socket);
    if (bytes.byteLength > 0) socket.offer(bytes);
    if (ending === "FIN") socket.finish();
    else socket.abort();
  });
  if (ending === "RST") return;
  await socket.untilClosed();
  expect({ fin: socket.fin, reset: socket.reset, received: socket.received }).toEqual({
    fin: true,
    reset: undefined,
    received: 0,
  });
}

const warningsOf = ({ log }: RunningProxy) => log.lines.filter(({ level }) => level === "warn" || level === "error");

function cases(implementation: Implementation): void {
  for (const ending of ["FIN", "RST"] as const) {
    test.each(checks)(`a connection that leaves with ${ending} $name is no stream`, async ({ header }) => {
      await using backend = await listenTcp({ onFin: (socket) => socket.finish() });
      await using proxy = await implementation.startProxy({ acceptProxyProtocol: true });
      // Without a target every stream fails.
      for (let count = 0; count < 3; count += 1) await check(proxy, header, ending);
      await using target = await implementation.startTarget({ proxy: proxy.rendezvous, backend });
      await untilReady(target);
      await untilReady(proxy);
      for (let count = 0; count < 3; count += 1) await check(proxy, header, ending);
      const consumer = await connectTcp(proxy.consumers.port);
      await consumer.send("PROXY TCP4 203.0.113.7 198.51.100.9 40000 443\r\nhello");
      consumer.finish();
      await consumer.untilClosed();
      await untilMetric(proxy, "netaminity_streams_total", { result: "completed" }, (count) => count === 1);
      expect({
        streams: (await metricsOf(proxy)).sum("netaminity_streams_total"),
        warnings: warningsOf(proxy),
        backends: backend.sockets.map((socket) => socket.text()),
      }).toEqual({ streams: 1, warnings: [], backends: ["hello"] });
    });
  }

  test("a load balancer's own connection that stays is served, also when the backend has to speak first", async () => {
    await using backend = await listenTcp({ onOpen: (socket) => void socket.send("220 ready\r\n") });
    await using proxy = await implementation.startProxy({ acceptProxyProtocol: true });
    await using target = await implementation.startTarget({ proxy: proxy.rendezvous, backend });
    await untilReady(target);
    await untilReady(proxy);
    await using socket = await connectTcp(proxy.consumers.port);
    await socket.send(local);
    await socket.untilReceived(11);
    expect(socket.text()).toBe("220 ready\r\n");
  });

  test("a header that is missing, or breaks off, is logged with its peer and how long it was awaited", async () => {
    await using proxy = await implementation.startProxy({ acceptProxyProtocol: true });
    await using silent = await connectTcp(proxy.consumers.port);
    const torn = await connectTcp(proxy.consumers.port);
    await torn.send("PROXY TCP4 ");
    // Once a later connection has been answered, these two have been met.
    const later = await connectTcp(proxy.consumers.port);
    await later.send("no header");
    await later.untilReset();
    await Bun.sleep(100);
    torn.abort();
    const peerOf = ({ localPort }: TcpSocket) => ({ peer: `127.0.0.1:${localPort}`, result: "bad_header" });
    const closed = await proxy.log.first("stream failed", peerOf(torn));
    expect(closed.fields.reason).toContain("closed inside its PROXY protocol header");
    expect(Number(closed.fields.milliseconds)).toBeWithin(99, 3000);
    const late = await proxy.log.first("stream failed", peerOf(silent), 15_000);
    expect(late.fields.reason).toBe("no PROXY protocol header came in time");
    expect(Number(late.fields.milliseconds)).toBeWithin(2990, 15_000);
  });
}

for (const implementation of [inProcess, compiled]) describe(implementation.name, () => cases(implementation));
