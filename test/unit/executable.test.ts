import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { parseHostPort } from "../../src/endpoint.ts";
import { type RunningProcess, startProcess } from "../support/process.ts";
import { executable } from "../support/tunnel-compiled.ts";

const anyPorts = ["--listen", "127.0.0.1:0", "--consumer-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"];
const accepted = "accepted: operator, proxy, target, doctor, status, dashboard, export, rotate, manifest, completion";
const secret = { NETAMINITY_SECRET: "correct horse" };

/** Runs the executable to its end and returns what it printed. */
async function run(args: readonly string[], environment: Record<string, string> = {}) {
  await using process = startProcess([executable(), ...args], environment);
  const code = await process.exited();
  return { code, lines: process.log.lines.map(({ message }) => message) };
}

async function startProxy(args: readonly string[] = [], environment: Record<string, string> = {}) {
  const process = startProcess([executable(), "proxy", ...anyPorts, "--log-format=json", ...args], {
    ...secret,
    ...environment,
  });
  const { fields } = await process.log.first("listening");
  const port = (field: string) => parseHostPort(String(fields[field]))?.port ?? 0;
  const health = port("health");
  return {
    process,
    get: async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${health}${path}`);
      return [response.status, (await response.text()).trim()];
    },
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

describe("without a role", () => {
  test("the executable prints what it is and its roles", async () => {
    for (const args of [[], ["--help"], ["-h"]]) {
      const { code, lines } = await run(args);
      expect([code, lines[0]]).toEqual([
        0,
        `netaminity ${manifest.version}: TCP tunnels across networks that can be crossed in one direction only.`,
      ]);
      expect(lines.filter((line) => /^ {2}(operator|proxy|target) /.test(line)).length).toBe(3);
    }
  });

  test("version says what was built, and for what", async () => {
    const { code, lines } = await run(["version"]);
    expect([code, lines[0]]).toEqual([0, `netaminity ${manifest.version}`]);
    expect(lines[1]).toMatch(/^commit {3}(unknown|[0-9a-f]{7,} of \d{4}-\d\d-\d\d(, with changes)?)$/);
    expect(lines[2]).toMatch(/^runtime {2}Bun \d+\.\d+\.\d+ for linux (x64|arm64), glibc \d/);
  });

  test.each([[["--version"]], [["proxy", "--version"]]])(
    "%p prints the version of package.json alone",
    async (args) => {
      expect(await run(args)).toEqual({ code: 0, lines: [manifest.version] });
    },
  );
});

test.each(["operator", "proxy", "target"])("%s --help lists its settings, also beside other flags", async (role) => {
  const { code, lines } = await run([role, "--log-level", "debug", "--help"]);
  expect(code).toBe(0);
  expect(lines).toContain("  --health-listen HOST:PORT");
});

describe("a mistake is exit code 2 and one line", () => {
  test.each<[string, string[], Record<string, string>, string]>([
    ["an unknown command", ["prxy"], {}, `unknown command "prxy" (did you mean proxy?); ${accepted}`],
    ["a name that objects have", ["constructor"], {}, `unknown command "constructor"; ${accepted}`],
    [
      "a flag before the command",
      ["--listen", "[::]:1", "proxy"],
      {},
      `unknown flag before a command "--listen"; ${accepted}`,
    ],
    [
      "an unknown flag",
      ["proxy", "--listn=[::]:1"],
      secret,
      "unknown flag --listn (did you mean --listen?); see --help",
    ],
    [
      "a wrong value",
      ["proxy"],
      { ...secret, NETAMINITY_DEADLINE: "forever" },
      'deadline was given "forever" by the variable NETAMINITY_DEADLINE; accepted: a duration from 100ms to 10m, such as 500ms, 10s or 2m',
    ],
    [
      "a setting that is no variable is not given",
      ["export", "proxy/edge"],
      {},
      "backend is not given; accepted: HOST:PORT with a name, an IPv4 address or an [IPv6] address, and a port from 1 to 65535, as --backend",
    ],
    [
      "an object of a kind that the command does not take",
      ["rotate", "target/edge"],
      {},
      'object was given "target/edge" by the argument; accepted: tunnel/NAME or proxy/NAME',
    ],
    [
      "a wrong field of what is for all agents",
      ["operator"],
      { NETAMINITY_AGENT_POD_TEMPLATE: '{"tolerations":[{"effect":"Never"}]}' },
      'agent-pod-template: tolerations[0].effect: Invalid option: expected one of "NoSchedule"|"PreferNoSchedule"|"NoExecute"',
    ],
    [
      "no secret",
      ["target", "--proxy-endpoint=a:1", "--endpoint=b:1"],
      {},
      "no secret is given; accepted: --secret-file FILE or the environment variable NETAMINITY_SECRET",
    ],
    [
      "an unreadable secret",
      ["proxy", "--secret-file=/nowhere"],
      {},
      `secret-file: "/nowhere" cannot be used: ENOENT: no such file or directory, open '/nowhere'`,
    ],
  ])("%s", async (_, args, environment, line) => {
    expect(await run(args, environment)).toEqual({ code: 2, lines: [`netaminity: ${line}`] });
  });
});

test.each(["proxy", "target", "doctor"])(
  "bytes in NETAMINITY_SECRET that are no text are refused by the %s, not turned into others",
  async (command) => {
    // The shell passes the byte on as it is, which Bun's spawn cannot.
    const shell = ["/bin/sh", "-c", `NETAMINITY_SECRET=$(printf 'a\\377b') exec "$@"`, "sh"];
    const endpoints = command === "proxy" ? [] : ["--proxy-endpoint=127.0.0.1:1", "--endpoint=127.0.0.1:1"];
    await using process = startProcess([...shell, executable(), command, ...endpoints]);
    expect(await process.exited()).toBe(2);
    expect(process.log.lines.map(({ message }) => message)).toEqual([
      "netaminity: NETAMINITY_SECRET cannot be used: it is not UTF-8 text, or has lost some of it (U+FFFD stands where bytes were)",
    ]);
  },
);

test("with the log level debug the one line is followed by the stack", async () => {
  const { code, lines } = await run(["proxy", "--log-level", "debug", "--deadline", "x"], secret);
  expect([
    code,
    lines[0]?.startsWith('netaminity: deadline was given "x"'),
    lines[1]?.startsWith("UsageError: "),
  ]).toEqual([2, true, true]);
  expect(lines.join("\n")).toContain("src/config/read.ts");
});

describe("a listen that is refused is exit code 2 and one line", () => {
  test("a port that is taken", async () => {
    using taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const address = `127.0.0.1:${taken.port}`;
    for (const setting of ["listen", "consumer-listen", "health-listen"]) {
      expect(await run(["proxy", ...anyPorts, `--${setting}`, address], secret)).toEqual({
        code: 2,
        lines: [`netaminity: cannot listen on ${address} (${setting}): the address is in use (EADDRINUSE)`],
      });
    }
  });

  test("an address of another machine", async () => {
    expect(await run(["proxy", ...anyPorts, "--consumer-listen", "192.0.2.1:0"], secret)).toEqual({
      code: 2,
      lines: [
        "netaminity: cannot listen on 192.0.2.1:0 (consumer-listen): this machine has no such address (EADDRNOTAVAIL)",
      ],
    });
  });

  test("a name that does not resolve", async () => {
    const { code, lines } = await run(["proxy", ...anyPorts, "--listen", "nowhere.invalid:0"], secret);
    expect([code, lines.length]).toEqual([2, 1]);
    expect(lines[0]).toStartWith("netaminity: listen: the name nowhere.invalid does not resolve");
  });
});

test("a role runs as one process, restarted with the collector's options for a small relay, and keeps what the user set", async () => {
  const option = (process: RunningProcess) =>
    readFileSync(`/proc/${process.pid}/environ`, "utf8")
      .split("\0")
      .filter((entry) => entry.startsWith("BUN_JSC_"));
  await using proxy = await startProxy();
  expect(option(proxy.process)).toEqual([
    "BUN_JSC_useConcurrentGC=0",
    "BUN_JSC_forceRAMSize=20000000",
    "BUN_JSC_numberOfGCMarkers=1",
  ]);
  await using other = await startProxy([], { BUN_JSC_useConcurrentGC: "1" });
  expect(option(other.process)).toEqual(["BUN_JSC_useConcurrentGC=1"]);
});

test("arguments with spaces, quotes and empty text survive the restart", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'neta minity "quoted" '));
  const file = join(folder.path, "config file.yaml");
  await Bun.write(
    file,
    "logFormat: json\nlisten: 127.0.0.1:0\nconsumerListen: 127.0.0.1:0\nhealthListen: 127.0.0.1:0\n",
  );
  await using process = startProcess([executable(), "proxy", "--config", file], secret);
  await process.log.first("listening");
  expect(await run(["proxy", "--log-level", ""], secret)).toEqual({
    code: 2,
    lines: ['netaminity: log-level was given "" by --log-level; accepted: one of debug, info, warn, error'],
  });
});

test("files of the folder in which it is started are not read", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "netaminity-cwd-"));
  await Bun.write(join(folder.path, ".env"), "NETAMINITY_SECRET=from-dotenv\n");
  await Bun.write(join(folder.path, "bunfig.toml"), 'preload = ["./missing.ts"]\n');
  await using process = startProcess(["sh", "-c", 'cd "$1" && exec "$2" proxy', "sh", folder.path, executable()]);
  expect(await process.exited()).toBe(2);
  expect(process.log.lines.map(({ message }) => message)).toEqual([
    "netaminity: no secret is given; accepted: --secret-file FILE or the environment variable NETAMINITY_SECRET",
  ]);
});

test("an idle proxy is alive and not ready, and the signals SIGTERM and SIGINT end it with 0", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    await using proxy = await startProxy();
    expect([await proxy.get("/healthz"), await proxy.get("/readyz")]).toEqual([
      [200, "alive"],
      [503, "no target is attached"],
    ]);
    proxy.process.signal(signal);
    expect(await proxy.process.exited()).toBe(0);
    expect(proxy.process.log.lines.map(({ message }) => message)).toEqual(["listening", "draining", "stopped"]);
  }
});
