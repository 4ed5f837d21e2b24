import { describe, expect, test } from "bun:test";
import { mkdtempDisposable, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { labels } from "../../src/names.ts";
import { resources } from "../../src/operator/resources.ts";
import { binaries } from "../support/cluster/binaries.ts";
import { run as runCommand } from "../support/cluster/command.ts";
import { startProcess } from "../support/process.ts";
import { executable } from "../support/tunnel-compiled.ts";
import { localAddresses, nextAddress, runPods } from "./kubelet.ts";
import { conditionOf, makeProxy, makeSecret, makeTunnel } from "./objects.ts";
import { type Site, startSite } from "./site.ts";

interface Answer {
  code: number | string;
  lines: string[];
}

/** Runs the compiled executable as a person would, in the namespace of the site. */
async function run(site: Site, args: readonly string[], kubeconfig = site.plane.kubeconfig): Promise<Answer> {
  await using process = startProcess([executable(), ...args, "-n", site.namespace], { KUBECONFIG: kubeconfig });
  const code = await process.exited(60_000);
  return { code, lines: process.log.lines.map(({ message }) => message) };
}

/** What the doctor says in JSON: its exit code, where it breaks, and `link outcome` of every check. */
async function doctor(site: Site, args: readonly string[], kubeconfig?: string) {
  const { code, lines } = await run(site, ["doctor", ...args, "-o", "json"], kubeconfig);
  const { verdict, brokenAt, checks } = JSON.parse(lines.join("\n"));
  const of = (link: string) => checks.find((check: { link: string }) => check.link === link);
  return { code, verdict, brokenAt, of, outcomes: checks.map((check: Check) => `${check.link} ${check.outcome}`) };
}

interface Check {
  link: string;
  outcome: string;
}

const summary = ({ code, verdict, brokenAt, outcomes }: Awaited<ReturnType<typeof doctor>>) => ({
  code,
  verdict,
  brokenAt,
  outcomes,
});

describe("netaminity doctor", () => {
  test("says what is missing of a Proxy, one state after the other", async () => {
    await using site = await startSite("doctor");
    const { objects } = site;
    expect(summary(await doctor(site, ["proxy/edge"]))).toEqual({
      ...{ code: 1, verdict: "broken", brokenAt: "object" },
      outcomes: ["object broken"],
    });

    await objects.create(makeProxy("edge"));
    await site.until(
      "SecretMissing",
      async () => conditionOf(await objects.get(resources.proxy, "edge")) === "False SecretMissing",
    );
    const withoutSecret = await doctor(site, ["proxy/edge"]);
    expect([withoutSecret.code, withoutSecret.brokenAt, withoutSecret.of("secret").evidence]).toEqual([
      1,
      "secret",
      "Secret edge-key does not exist; create it with the key secret",
    ]);

    await objects.create(makeSecret("edge-key"));
    await site.until(
      "PodsStarting",
      async () => conditionOf(await objects.get(resources.proxy, "edge")) === "False PodsStarting",
    );
    const withoutPods = await doctor(site, ["prx/edge"]);
    expect([withoutPods.code, withoutPods.brokenAt]).toEqual([1, "pods"]);

    await using _pods = runPods(site.plane, objects, () => false);
    await site.until(
      "Available",
      async () => conditionOf(await objects.get(resources.proxy, "edge")) === "True Available",
    );
    const text = await run(site, ["doctor", "proxy/edge"]);
    expect(text.code).toBe(1);
    expect(text.lines[0]).toBe(`proxy/edge in namespace ${site.namespace}: broken at session`);
    expect(text.lines.filter((line) => line.startsWith("-> "))).toEqual([
      expect.stringMatching(/^-> BROKEN session +no target has a session yet; its proxyEndpoint at edge-rendezvous\./),
    ]);
    expect(summary(await doctor(site, ["proxy/edge"])).outcomes).toEqual([
      "object ok",
      "secret ok",
      "pods ok",
      "rendezvous ok",
      "session broken",
      "service broken",
    ]);
  }, 120_000);

  test("without an answer or the rights it cannot tell, and says so with code 3", async () => {
    await using site = await startSite("doctor-rights");
    await site.objects.create(makeProxy("edge"));
    const nobody = await site.plane.serviceAccountKubeconfig(site.namespace, "nobody");
    const refused = await doctor(site, ["proxy/edge"], nobody);
    expect(summary(refused)).toEqual({
      code: 3,
      verdict: "unknown",
      brokenAt: undefined,
      outcomes: ["object unknown"],
    });
    expect(refused.of("object").evidence).toStartWith(
      'not allowed: proxies.netaminity.exeteres.net "edge" is forbidden',
    );

    await using folder = await mkdtempDisposable(join(tmpdir(), "netaminity-kubeconfig-"));
    const nowhere = join(folder.path, "config");
    const kubeconfig = await Bun.file(site.plane.kubeconfig).text();
    await Bun.write(nowhere, kubeconfig.replace(site.plane.url, "https://127.0.0.1:1"));
    const silent = await doctor(site, ["proxy/edge"], nowhere);
    expect([silent.code, silent.of("object").evidence]).toEqual([
      3,
      expect.stringContaining("no answer from the API server"),
    ]);
    expect((await run(site, ["status"], nowhere)).code).toBe(3);
  }, 120_000);

  test("a Tunnel with real agents is healthy and carries a probe, until its backend goes", async () => {
    await using site = await startSite("doctor-tunnel");
    const { objects, plane, namespace } = site;
    const [proxyAddress, targetAddress] = [nextAddress(), nextAddress()];
    await using _addresses = await localAddresses([proxyAddress, targetAddress]);
    await using backend = startBackend();
    await objects.create(makeTunnel("api", { target: { endpoint: `127.0.0.1:${backend.port}` } }));
    const secret = await site.until("the Tunnel's Secret", () => objects.get(resources.secret, "api-secret"));
    const shared = { NETAMINITY_SECRET: atob(secret.data?.secret ?? ""), NETAMINITY_LOG_FORMAT: "json" };
    const at = (address: string, port: number) => `${address}:${port}`;
    await using proxy = startProcess([executable(), "proxy"], {
      ...shared,
      NETAMINITY_LISTEN: at(proxyAddress, 7835),
      NETAMINITY_CONSUMER_LISTEN: at(proxyAddress, 30080),
      NETAMINITY_HEALTH_LISTEN: at(proxyAddress, 8080),
    });
    await using target = startProcess([executable(), "target"], {
      ...shared,
      NETAMINITY_PROXY_ENDPOINT: at(proxyAddress, 7835),
      NETAMINITY_ENDPOINT: at("127.0.0.1", backend.port),
      NETAMINITY_HEALTH_LISTEN: at(targetAddress, 8080),
    });
    await proxy.log.first("listening");
    await target.log.first("session up");
    await using _pods = runPods(
      plane,
      objects,
      () => true,
      (pod) => (pod.metadata.labels?.[labels.component] === "proxy" ? proxyAddress : targetAddress),
    );
    await site.until(
      "Ready",
      async () => conditionOf(await objects.get(resources.tunnel, "api")) === "True AllPairsReady",
    );
    await objects.create(sliceOf("api", proxyAddress));

    const healthy = await doctor(site, ["tunnel/api", "--probe"]);
    expect(summary(healthy)).toEqual({
      ...{ code: 0, verdict: "healthy", brokenAt: undefined },
      outcomes: [
        ...["object ok", "secret ok", "proxy ok", "proxy pods ok", "rendezvous ok"],
        ...[
          "target ok",
          "target pods ok",
          "target session ok",
          "proxy session ok",
          "backend unknown",
          "service ok",
          "probe ok",
        ],
      ],
    });
    expect(healthy.of("probe").evidence).toMatch(
      /was answered in \d+ ms: HTTP status 418; .* carried \d{2,} bytes to the backend and \d{2,} back/,
    );

    const [row] = JSON.parse((await run(site, ["status", "-o", "json"])).lines.join("\n"));
    expect([row.kind, row.name, row.sessions, row.toConsumer > 0]).toEqual(["Tunnel", "api", 1, true]);
    const listed = await kubectlWithPlugin(site, ["netaminity", "status", "-n", namespace]);
    expect(listed[0]).toMatch(/^OBJECT +READY +SESSIONS +STREAMS +TO-BACKEND +TO-CONSUMER +AGE +REASON$/);
    expect(listed.slice(1).map((line) => line.trim().split(/ +/).slice(0, 3))).toEqual([
      ["tunnel/api", "True", "1"],
      ["proxy/api-0", "True", "1"],
      ["target/api-0", "True", "1"],
    ]);

    expect(await kubectlWithPlugin(site, ["__complete", "netaminity", "doctor", "tu"])).toEqual(["tunnel/", ":6"]);

    await using watching = startProcess(
      [executable(), "status", "-n", namespace, "--watch", "--interval", "500ms", "-o", "json"],
      { KUBECONFIG: plane.kubeconfig },
    );
    await site.until("two looks", async () => watching.log.lines.length >= 2);
    watching.signal("SIGINT");
    expect(await watching.exited()).toBe(0);
    const looks = watching.log.lines.map(({ message }) =>
      JSON.parse(message).map((each: { name: string }) => each.name),
    );
    expect(looks.slice(0, 2)).toEqual([
      ["api", "api-0", "api-0"],
      ["api", "api-0", "api-0"],
    ]);

    const ofTarget = await doctor(site, ["target/api-0", "--probe"]);
    expect([ofTarget.code, ofTarget.outcomes.slice(-3)]).toEqual([0, ["session ok", "backend ok", "probe ok"]]);

    await backend.stop();
    const broken = await doctor(site, ["tunnel/api", "--probe"]);
    expect([broken.code, broken.brokenAt, broken.of("probe").next]).toEqual([
      1,
      "probe",
      "Nothing listens there: check spec.endpoint, and that the backend runs.",
    ]);
  }, 120_000);
});

/** As the controller of EndpointSlices makes it for pods that are on a node; these are on none. */
function sliceOf(service: string, address: string) {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: `${service}-by-hand`, labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: "consumers", protocol: "TCP", port: 30080 }],
  };
}

/** An HTTP backend with an answer that no API server gives. */
function startBackend() {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("teapot", { status: 418 }) });
  const stop = () => server.stop(true);
  return { port: server.port ?? 0, stop, [Symbol.asyncDispose]: stop };
}

/** kubectl, which finds the executable by its names in the PATH. */
async function kubectlWithPlugin(site: Site, args: readonly string[]): Promise<string[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "netaminity-plugin-"));
  for (const name of ["kubectl-netaminity", "kubectl_complete-netaminity"]) {
    await symlink(executable(), join(folder.path, name));
  }
  const { kube } = await binaries();
  const output = await runCommand([kube, "kubectl", ...args], {
    env: { PATH: `${folder.path}:${process.env.PATH}`, KUBECONFIG: site.plane.kubeconfig },
  });
  return output.trim().split("\n");
}
