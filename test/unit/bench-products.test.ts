import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loopbackSite } from "../bench/link.ts";
import { knowsEncryption, netaminity } from "../bench/products.ts";
import { noiseKeys } from "../bench/rathole.ts";
import { timeWaitsIn, watchTimeWait } from "../bench/time-wait.ts";
import { wakeUps } from "../bench/wake-ups.ts";
import { eventually } from "../support/tcp-wait.ts";

const folder = mkdtempSync(join(tmpdir(), "bench-products-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** An executable that answers --help with `help`, and else writes its arguments into a file named after its role. */
async function standIn(name: string, help: string): Promise<string> {
  const file = join(folder, name);
  await Bun.write(
    file,
    `#!/bin/sh\nif [ "$2" = --help ]; then echo '${help}'; exit; fi\necho "$@" >${file}.$1.new; mv ${file}.$1.new ${file}.$1\n`,
  );
  chmodSync(file, 0o755);
  return file;
}

describe("products of the benchmark", () => {
  test("the encrypted one tells both roles to require it", async () => {
    const executable = await standIn("knows", "  --encryption off|required");
    expect(await knowsEncryption(executable)).toBe(true);
    const product = netaminity({ name: "before", executable, environment: {} }, true);
    expect([product.name, product.encrypted, product.ours]).toEqual(["before-tls", true, true]);
    const { server, client } = await product.start(await loopbackSite("127.0.0.1", folder));
    await using _server = server;
    await using _client = client;
    for (const role of ["proxy", "target"]) {
      const written = `${executable}.${role}`;
      await eventually(() => existsSync(written), `the ${role} is started`);
      expect(readFileSync(written, "utf8").trim()).toEndWith(" --encryption required");
    }
  });

  test("a build without encryption is said to be one, and never measured without", async () => {
    const executable = await standIn("knows-not", "  --listen ADDRESS");
    const product = netaminity({ name: "before", executable, environment: {} }, true);
    await expect(product.start(await loopbackSite("127.0.0.1", folder))).rejects.toThrow(
      "this build has no --encryption",
    );
  });

  test("the keys of rathole's Noise are taken from what it prints", () => {
    expect(noiseKeys("Private Key:\nabc+/=\n\nPublic Key:\ndef\n")).toEqual({ secret: "abc+/=", known: "def" });
    expect(() => noiseKeys("usage")).toThrow("no key pair");
  });
});

test("wake-ups are those of threads that are still there, also of new ones", () => {
  const before = new Map([
    ["1", 10],
    ["2", 50],
  ]);
  const after = new Map([
    ["1", 12],
    ["3", 7],
  ]);
  expect(wakeUps(before, after)).toBe(2 + 7);
});

describe("sockets in TIME_WAIT", () => {
  test("the machine's number is read from sockstat", () => {
    const text = "sockets: used 5\nTCP: inuse 5 orphan 0 tw 42 alloc 7 mem 12\nUDP: inuse 1 mem 3\n";
    expect(timeWaitsIn(text)).toBe(42);
    expect(() => timeWaitsIn("")).toThrow("/proc/net/sockstat");
  });

  test("those of one address are counted, whichever end closed first, and no others", async () => {
    const closing = { first: true };
    const servers = await Promise.all(
      [0, 1].map(async () => {
        const server = createServer({ allowHalfOpen: true }, (socket) => {
          if (closing.first) socket.end();
          socket.resume().on("end", () => socket.end());
        });
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        return { server, port: (server.address() as AddressInfo).port };
      }),
    );
    const exchange = (port: number) =>
      new Promise<void>((resolve, reject) => {
        const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
        if (!closing.first) socket.end();
        socket
          .resume()
          .on("error", reject)
          .on("close", () => resolve());
        socket.on("end", () => socket.end());
      });
    const [watched, other] = servers.map(({ port }) => port) as [number, number];
    const waiting = watchTimeWait([], `127.0.0.1:${watched}`);
    for (const first of [true, false]) {
      closing.first = first;
      for (const port of [watched, watched, other]) await exchange(port);
    }
    const { between, all, limit } = await waiting.most();
    for (const { server } of servers) server.close();
    expect(between).toBe(4);
    expect(all).toBeGreaterThanOrEqual(6);
    expect(limit).toBeGreaterThan(all);
  });
});
