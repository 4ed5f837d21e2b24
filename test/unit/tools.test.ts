import { describe, expect, test } from "bun:test";
import { mkdtempDisposable, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatHostPort } from "../../src/endpoint.ts";
import { startProcess } from "../support/process.ts";
import { compiled, executable } from "../support/tunnel-compiled.ts";

async function run(args: readonly string[], environment: Record<string, string> = {}, program = executable()) {
  await using process = startProcess([program, ...args], environment);
  const code = await process.exited();
  return { code, lines: process.log.lines.map(({ message }) => message) };
}

/** Exit code and `link outcome` of every check. */
async function doctor(args: readonly string[], environment: Record<string, string> = {}) {
  const { code, lines } = await run(["doctor", ...args, "--output", "json"], environment);
  const { checks } = JSON.parse(lines.join("\n")) as { checks: { link: string; outcome: string; evidence: string }[] };
  return { code, outcomes: checks.map(({ link, outcome }) => `${link} ${outcome}`), checks };
}

function startBackend() {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  return { address: `127.0.0.1:${server.port}`, [Symbol.dispose]: () => server.stop(true) };
}

describe("netaminity doctor by hand", () => {
  const secret = { NETAMINITY_SECRET: "the right one" };

  test("tells name, TCP, protocol, secret and backend apart, and opens no session", async () => {
    await using proxy = await compiled.startProxy({ secrets: ["the right one"] });
    using backend = startBackend();
    const rendezvous = formatHostPort(proxy.rendezvous);
    const ends = ["--proxy-endpoint", rendezvous, "--endpoint", backend.address];

    const good = await doctor(ends, secret);
    expect([good.code, good.outcomes]).toEqual([
      0,
      ["name ok", "tcp ok", "protocol ok", "secret ok", "encryption ok", "backend name ok", "backend ok"],
    ]);
    const bad = await doctor(ends, { NETAMINITY_SECRET: "another" });
    expect([bad.code, bad.checks[3]?.evidence]).toEqual([1, "the proxy refuses it: invalid secret"]);
    expect((await doctor(["--proxy-endpoint", rendezvous])).outcomes).toEqual([
      ...["name ok", "tcp ok", "protocol ok", "secret skipped", "encryption ok", "backend skipped"],
    ]);

    const metrics = await (await fetch(`http://${formatHostPort(proxy.health)}/metrics`)).text();
    expect(metrics).not.toContain("netaminity_sessions_opened_total{");
    expect(metrics).toContain("netaminity_auth_failures_total 1\n");
  });

  test("a server that is no proxy, a closed port and an unknown name break at their own link", async () => {
    using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("hello") });
    using speaker = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { open: (socket) => void socket.write("SSH-2.0-OpenSSH\r\n\0"), data() {} },
    });
    const broken = async (endpoint: string) => {
      const { code, outcomes } = await doctor(["--proxy-endpoint", endpoint], secret);
      return [code, outcomes.find((outcome) => outcome.endsWith("broken"))];
    };
    expect(await broken(`127.0.0.1:${other.port}`)).toEqual([1, "protocol broken"]);
    expect(await broken(`127.0.0.1:${speaker.port}`)).toEqual([1, "protocol broken"]);
    const port = speaker.port;
    speaker.stop(true);
    expect(await broken(`127.0.0.1:${port}`)).toEqual([1, "tcp broken"]);
    expect(await broken("nowhere.invalid:7835")).toEqual([1, "name broken"]);
  });

  test("a setting of the target that its proxy does not accept is broken before anything is tried with it", async () => {
    using strict = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        // A proxy that requires encryption says so in its challenge.
        open: (socket) => void socket.write('{"Challenge":"6e6d010d-52c4-8b6e-9a01-7c2d8e5f6a90"}\0'),
        data() {},
      },
    });
    const of = async (...flags: string[]) => {
      const { code, checks } = await doctor(["--proxy-endpoint", `127.0.0.1:${strict.port}`, ...flags]);
      return [code, checks.find(({ link }) => link === "encryption")?.evidence];
    };
    expect(await of()).toEqual([1, "the proxy requires it, and it is off here"]);
    expect(await of("--encryption", "required")).toEqual([0, "it is required here, and the proxy can"]);
  });

  test.each([
    [
      [],
      "nothing to examine is given; accepted: tunnel/NAME, proxy/NAME, target/NAME or service/NAME, or --proxy-endpoint and --endpoint of a target run by hand",
    ],
    [
      ["pod/x"],
      'object was given "pod/x" by the argument; accepted: tunnel/NAME, proxy/NAME, target/NAME or service/NAME',
    ],
    [
      ["--endpoint", "a:1", "--probe"],
      "probe was given without an object; accepted: --probe together with tunnel/NAME, proxy/NAME or target/NAME",
    ],
    [["proxy/x", "y"], 'unexpected argument "y"; accepted: settings as --name value (see --help)'],
  ])("%p is wrong usage", async (args, line) => {
    expect(await run(["doctor", ...args])).toEqual({ code: 2, lines: [`netaminity: ${line}`] });
  });
});

test("without a way to an API server doctor and status end with 3", async () => {
  for (const args of [["doctor", "tunnel/x"], ["status"]]) {
    const { code, lines } = await run([...args, "--kubeconfig", "/nowhere"]);
    expect([code, lines.length]).toEqual([3, 1]);
    expect(lines[0]).toStartWith("netaminity: cannot read the kubeconfig /nowhere");
  }
});

test("manifest prints the generated definitions", async () => {
  const { code, lines } = await run(["manifest"]);
  const files = await Promise.all(
    ["tunnels", "proxies", "targets"].map((plural) =>
      Bun.file(join(import.meta.dir, `../../crd/${plural}.yaml`)).text(),
    ),
  );
  const generated = files.map((text) => text.split("\n").slice(1).join("\n"));
  expect([code, `${lines.join("\n")}\n`]).toEqual([0, generated.join("---\n")]);
});

test("as kubectl-netaminity it calls itself a plugin of kubectl", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "netaminity-plugin-"));
  const plugin = join(folder.path, "kubectl-netaminity");
  await symlink(executable(), plugin);
  const { code, lines } = await run(["doctor", "--help"], {}, plugin);
  expect([code, lines[2]]).toEqual([0, "Usage: kubectl netaminity doctor [KIND/NAME] [--setting value]..."]);
  expect((await run(["--help"], {}, plugin)).lines[2]).toBe("Usage: kubectl netaminity COMMAND [--setting value]...");
});

test("as kubectl_complete-netaminity it tells kubectl what can follow", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "netaminity-plugin-"));
  const completer = join(folder.path, "kubectl_complete-netaminity");
  await symlink(executable(), completer);
  const offered = async (...words: string[]) => (await run(words, {}, completer)).lines;
  expect(await offered("st")).toEqual(["status", ":4"]);
  expect(await offered("doctor", "tu")).toEqual(["tunnel/", ":6"]);
  expect(await offered("doctor", "--kubeconfig", "")).toEqual([":0"]);
  expect(await offered("doctor", "--he")).toEqual(["--help", ":4"]);
  // The question for a role must not start it.
  expect(await offered("proxy", "--cons")).toEqual(["--consumer-listen", ":4"]);
});

test("an answer whose reader has gone is no failure", async () => {
  const { code, lines } = await run(
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is a variable of the shell.
    ["-c", '"$1" manifest | head -c 11; echo; echo "${PIPESTATUS[0]}"', "bash", executable()],
    {},
    "bash",
  );
  expect([code, lines]).toEqual([0, ["apiVersion:", "0"]]);
});
