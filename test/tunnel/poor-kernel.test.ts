import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeKubeconfig } from "../support/cluster/kubeconfig.ts";
import { denying } from "../support/denying-launcher.ts";
import { type RunningProcess, startProcess } from "../support/process.ts";
import { connectTcp, listenEcho } from "../support/tcp-ends.ts";
import { untilReady } from "../support/tunnel.ts";
import { compiledWith, executable } from "../support/tunnel-compiled.ts";

setDefaultTimeout(60_000);

describe("where IPv6 sockets cannot be made", () => {
  const withoutIpv6 = denying("no-ipv6");
  const start = (args: string[], environment: Record<string, string> = {}): RunningProcess =>
    startProcess(withoutIpv6([executable(), ...args]), {
      NETAMINITY_SECRET: "correct horse",
      NETAMINITY_LOG_FORMAT: "json",
      ...environment,
    });

  test("a proxy that listens on every address does so with IPv4, says so, and serves consumers", async () => {
    await using backend = await listenEcho();
    const { startProxy, startTarget } = compiledWith(withoutIpv6);
    await using proxy = await startProxy({ host: "::" });
    await using target = await startTarget({
      proxy: { host: "localhost", port: proxy.rendezvous.port },
      backend: { host: "localhost", port: backend.port },
    });
    await untilReady(target);
    await untilReady(proxy);
    await using consumer = await connectTcp(proxy.consumers.port);
    await consumer.send("hello");
    await consumer.untilReceived(5);
    expect([proxy.rendezvous.host, proxy.consumers.host]).toEqual(["0.0.0.0", "0.0.0.0"]);
    expect(proxy.log.all("IPv6 is not available here").map(({ level, fields }) => [level, fields.setting])).toEqual([
      ["warn", "listen"],
      ["warn", "consumer-listen"],
    ]);
  });

  test.each([
    ["proxy", ["--listen", "127.0.0.1:0", "--consumer-listen", "127.0.0.1:0"]],
    ["target", ["--proxy-endpoint", "127.0.0.1:1", "--endpoint", "127.0.0.1:1"]],
    ["operator", ["--leader-elect=false"]],
  ])("the health server of a %s listens with IPv4", async (role, args) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "netaminity-kubeconfig-"));
    const KUBECONFIG = join(folder.path, "config");
    await writeKubeconfig(KUBECONFIG, { url: "https://127.0.0.1:1", ca: "", user: { token: "none" } });
    await using process = start([role, ...args, "--health-listen", "[::]:0"], { KUBECONFIG });
    const { fields } = await process.log.first("listening");
    const address = String(fields.health);
    expect(address).toStartWith("0.0.0.0:");
    const answer = await fetch(`http://127.0.0.1:${address.split(":")[1]}/healthz`);
    expect(answer.status).toBe(200);
    expect(process.log.all("IPv6 is not available here").map((line) => line.fields.wanted)).toEqual(["[::]:0"]);
  });

  test.each(["listen", "consumer-listen", "health-listen"])(
    "one IPv6 address for %s is one line and 2",
    async (setting) => {
      const others = ["listen", "consumer-listen", "health-listen"].filter((each) => each !== setting);
      await using process = start([
        "proxy",
        `--${setting}`,
        "[::1]:0",
        ...others.map((each) => `--${each}=127.0.0.1:0`),
      ]);
      expect(await process.exited()).toBe(2);
      expect(process.log.lines.map(({ message }) => message)).toEqual([
        `netaminity: cannot listen on [::1]:0 (${setting}): IPv6 is not available here (EAFNOSUPPORT)`,
      ]);
    },
  );
});
