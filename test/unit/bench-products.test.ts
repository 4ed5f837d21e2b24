import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loopbackSite } from "../bench/link.ts";
import { knowsEncryption, netaminity } from "../bench/ours.ts";
import { noiseKeys } from "../bench/rathole.ts";
import { timeWaitsIn, watchTimeWait } from "../bench/time-wait.ts";
import { wakeUps } from "../bench/wake-ups.ts";
import { executable } from "../support/tunnel-compiled.ts";

const folder = mkdtempSync(join(tmpdir(), "bench-products-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** An executable like ours whose help has `help` too; it keeps its arguments in files, and knows no encryption whatever it is told. */
async function standIn(name: string, help: string): Promise<string> {
  const file = join(folder, name);
  const real = executable();
  await Bun.write(
    file,
    `#!/bin/sh
if [ "$2" = --help ]; then echo '${help}'; exit; fi
echo "$@" >>${file}.$1
role=$*
exec ${real} \${role%% --encryption required}
`,
  );
  chmodSync(file, 0o755);
  return file;
}

const site = () => loopbackSite("127.0.0.1", folder);

describe("products of the benchmark", () => {
  test("one that is told to encrypt at both ends, and does not, is never measured", async () => {
    const build = {
      name: "before",
      executable: await standIn("knows", "  --encryption off|required"),
      environment: {},
    };
    expect(await knowsEncryption(build.executable)).toBe(true);
    const product = netaminity(build, true);
    expect([product.name, product.encrypted, product.ours]).toEqual(["before-tls", true, true]);
    for (const _ of ["at first", "and ever after"])
      await expect(product.start(await site())).rejects.toThrow("could be read");
    for (const role of ["proxy", "target"]) {
      expect(readFileSync(`${build.executable}.${role}`, "utf8")).toMatch(/^[^\n]+ --encryption required\n$/);
    }
  });

  test("a build without encryption is said to be one, and never measured without", async () => {
    const build = { name: "before", executable: await standIn("knows-not", "  --listen ADDRESS"), environment: {} };
    await expect(netaminity(build, true).start(await site())).rejects.toThrow("this build has no --encryption");
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
