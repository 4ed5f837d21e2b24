import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { startProcess } from "../support/process.ts";
import { unusedPort } from "../support/tcp-ends.ts";
import { executable } from "../support/tunnel-compiled.ts";

/** A folder with a certificate that nobody has signed, and a program that must never run. */
let folder = "";
const inFolder = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "netaminity-runtime-"));
  await Bun.write(inFolder("preload.js"), 'console.log("preloaded")');
  const request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1";
  const names = [
    "-addext",
    "subjectAltName=IP:127.0.0.1",
    "-keyout",
    inFolder("key.pem"),
    "-out",
    inFolder("cert.pem"),
  ];
  const made = Bun.spawnSync(["openssl", ...request.split(" "), ...names]);
  if (!made.success) throw new Error(`openssl failed:\n${made.stderr}`);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function run(args: readonly string[], environment: Record<string, string> = {}, program = executable()) {
  await using process = startProcess([program, ...args], environment);
  const code = await process.exited(20_000);
  return { code, lines: process.log.lines.map(({ message }) => message) };
}

const operatorFlags = ["--leader-elect=false", "--health-listen=127.0.0.1:0", "--log-format=json"];
const version = { code: 0, lines: [manifest.version] };

describe("a variable of the runtime changes nothing", () => {
  test.each([
    ["BUN_BE_BUN", () => "1"],
    ["BUN_OPTIONS", () => "--help"],
    ["BUN_OPTIONS", () => `--preload ${inFolder("preload.js")}`],
  ])("%s", async (name, value) => {
    expect(await run(["--version"], { [name]: value() })).toEqual(version);
  });

  test.each([
    ["BUN_INSPECT", (port: number) => `127.0.0.1:${port}`],
    ["BUN_INSPECT", (port: number) => `ws://127.0.0.1:${port}/`],
  ])("%s: no debugger listens", async (name, value) => {
    const port = unusedPort();
    const anyPorts = ["--listen", "--consumer-listen", "--health-listen"].flatMap((flag) => [flag, "127.0.0.1:0"]);
    await using proxy = startProcess([executable(), "proxy", ...anyPorts, "--log-format=json"], {
      NETAMINITY_SECRET: "correct horse",
      [name]: value(port),
    });
    await proxy.log.first("listening");
    const connecting = Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } });
    expect(
      await connecting.then(
        () => "it listens",
        () => "nobody listens",
      ),
    ).toBe("nobody listens");
  });

  test("BUN_BYTECODE_ORDER_OUT writes no file", async () => {
    const file = inFolder("order");
    expect(await run(["--version"], { BUN_BYTECODE_ORDER_OUT: file })).toEqual(version);
    expect(await Bun.file(file).exists()).toBe(false);
  });
});

async function writeKubeconfig(server: string): Promise<string> {
  const path = inFolder("kubeconfig");
  const entry = (key: string, of: Record<string, unknown>) => [{ name: "test", [key]: of }];
  const text = JSON.stringify({
    "current-context": "test",
    contexts: entry("context", { cluster: "test", user: "test" }),
    clusters: entry("cluster", { server }),
    users: entry("user", { token: "a-token" }),
  });
  await Bun.write(path, text);
  return path;
}

/** An API server whose certificate no one vouches for, and the requests that reached it in spite of that. */
function unverifiedServer() {
  const requests: (string | null)[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { key: Bun.file(inFolder("key.pem")), cert: Bun.file(inFolder("cert.pem")) },
    fetch: ({ headers }) => {
      requests.push(headers.get("authorization"));
      return Response.json({ kind: "Status", message: "reached" }, { status: 403 });
    },
  });
  return { port: server.port, requests, [Symbol.dispose]: () => void server.stop(true) };
}

describe.each([
  ["status", ["status"], {}],
  ["doctor", ["doctor", "tunnel/x"], {}],
  ["the operator", ["operator", ...operatorFlags], { untilStopped: true }],
] as [string, string[], { untilStopped?: boolean }][])("%s", (_, args, { untilStopped }) => {
  test.each([
    ["NODE_TLS_REJECT_UNAUTHORIZED", () => "0"],
    ["NODE_EXTRA_CA_CERTS", () => inFolder("cert.pem")],
  ])("sends no token to a server that it cannot verify, whatever %s says", async (name, value) => {
    using server = unverifiedServer();
    const kubeconfig = await writeKubeconfig(`https://127.0.0.1:${server.port}`);
    await using process = startProcess([executable(), ...args, `--kubeconfig=${kubeconfig}`], { [name]: value() });
    if (untilStopped) {
      await process.log.first("watch failed, trying again", {}, 20_000);
      process.signal("SIGTERM");
      expect(await process.exited(20_000)).toBe(0);
    } else {
      expect(await process.exited(20_000)).not.toBe(0);
    }
    expect(server.requests).toEqual([]);
  });
});

test.skipIf(Bun.which("strip") === null)("the executable survives GNU strip", async () => {
  const stripped = inFolder("stripped");
  await copyFile(executable(), stripped);
  expect(Bun.spawnSync(["strip", stripped]).stderr.toString()).toBe("");
  expect(await run(["--version"], {}, stripped)).toEqual(version);
  const { code, lines } = await run(["proxy"], {}, stripped);
  expect([code, lines.length, lines[0]?.startsWith("netaminity: no secret is given")]).toEqual([2, 1, true]);
});

test("the operator has room for all its watches, whatever BUN_CONFIG_MAX_HTTP_REQUESTS says", async () => {
  const kubeconfig = await writeKubeconfig("https://127.0.0.1:9");
  await using operator = startProcess([executable(), "operator", ...operatorFlags, `--kubeconfig=${kubeconfig}`], {
    BUN_CONFIG_MAX_HTTP_REQUESTS: "1",
  });
  await operator.log.first("listening");
  const environment = await Bun.file(`/proc/${operator.pid}/environ`).text();
  expect(environment.split("\0").filter((entry) => entry.startsWith("BUN_CONFIG"))).toEqual([
    "BUN_CONFIG_MAX_HTTP_REQUESTS=4096",
  ]);
});
