import { describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { leaseName } from "../../src/operator/rbac.ts";
import { resources } from "../../src/operator/resources.ts";
import { startProcess } from "../support/process.ts";
import { runPods } from "./kubelet.ts";
import { conditionOf, makeProxy, makeSecret, makeTunnel } from "./objects.ts";
import { type Site, startSite } from "./site.ts";

const executable = new URL("../../dist/netaminity", import.meta.url).pathname;

/** The compiled operator in place of the site's own. */
async function startExecutable(site: Site, ...more: string[]) {
  await site.operator.stop();
  const operator = startProcess(
    [executable, "operator", "--health-listen", "127.0.0.1:0", "--namespace", site.namespace, ...more],
    {
      NETAMINITY_KUBECONFIG: site.kubeconfig,
      NETAMINITY_AGENT_IMAGE: "netaminity:test",
      NETAMINITY_LOG_FORMAT: "json",
    },
  );
  const { fields } = await operator.log.first("listening", {}, 20_000);
  const get = async (path: string) => {
    const response = await fetch(`http://${fields.health}${path}`);
    return { status: response.status, body: await response.text() };
  };
  return { operator, get, [Symbol.asyncDispose]: () => operator[Symbol.asyncDispose]() };
}

describe("the executable as operator", () => {
  test("serves a Tunnel, tells its state, and gives the lease back when it is told to stop", async () => {
    await using site = await startSite("executable");
    await using _pods = runPods(site.plane, site.objects, () => true);
    await using started = await startExecutable(site);
    await site.until("ready", async () => (await started.get("/readyz")).body === "ready\n");
    await site.objects.create(makeTunnel("db"));
    await site.until(
      "tunnel ready",
      async () => conditionOf(await site.objects.get(resources.tunnel, "db")) === "True AllPairsReady",
    );
    const { body } = await started.get("/metrics");
    expect(body).toContain("netaminity_operator_leader 1\n");
    expect(body).toContain('netaminity_operator_api_requests_total{verb="create",resource="secrets",code="201"} 1\n');
    started.operator.signal("SIGTERM");
    expect(await started.operator.exited()).toBe(0);
    const lease = await site.objects.get(resources.lease, leaseName);
    expect(lease?.spec.holderIdentity ?? "").toBe("");
  }, 90_000);

  test("follows hundreds of Secrets, each by a watch of its own", async () => {
    await using site = await startSite("secrets");
    const { objects } = site;
    // Before there are many: the process of the tests has no room for so many requests.
    await using started = await startExecutable(site);
    const names = Array.from({ length: 300 }, (_, i) => `s${i}`);
    for (let from = 0; from < names.length; from += 20) {
      await Promise.all(
        names.slice(from, from + 20).flatMap((name) => [
          objects.create(makeSecret(`${name}-key`)),
          // Nothing runs, so that the operator and its watches are all that costs anything.
          objects.create(makeProxy(name, { replicas: 0 })),
        ]),
      );
    }
    const metrics = async () => (await started.get("/metrics")).body;
    const requests = 'netaminity_operator_api_requests_total{verb="watch",resource="secrets",code="200"}';
    // One more for those of Tunnels.
    await site.until("all watched", async () => (await metrics()).includes(`${requests} 301\n`), 60_000);
    expect(await metrics()).not.toContain('verb="get",resource="secrets"');
    await objects.patch(resources.proxy, "s299", { spec: { service: { port: 8001 } } });
    await site.until(
      "still at work",
      async () => (await objects.get(resources.service, "s299"))?.spec.ports[0].port === 8001,
      60_000,
    );
  }, 150_000);

  test("follows more collections than Bun keeps requests open by default", async () => {
    await using site = await startSite("many");
    const names = Array.from({ length: 40 }, (_, i) => `many-${i}`).join(",");
    const asAdministrator = { ...site, kubeconfig: site.plane.kubeconfig, namespace: `${site.namespace},${names}` };
    await using started = await startExecutable(asAdministrator, "--leader-elect-namespace", site.namespace);
    await site.until("ready", async () => (await started.get("/readyz")).body === "ready\n");
    await site.objects.create(makeTunnel("db"));
    await site.until("served", async () => (await site.objects.names(resources.deployment)).length === 2);
  }, 60_000);

  test("stays up, alive and not ready, while no API server answers", async () => {
    await using site = await startSite("unanswered");
    const nowhere = `${site.kubeconfig}.nowhere`;
    await writeFile(
      nowhere,
      (await Bun.file(site.kubeconfig).text()).replaceAll(/https:\/\/[\d.:]+/g, "https://127.0.0.1:1"),
    );
    await using started = await startExecutable({ ...site, kubeconfig: nowhere });
    const readiness = await site.until("reason", async () => {
      const answer = await started.get("/readyz");
      return answer.body.includes("no answer") && answer;
    });
    expect([readiness.status, readiness.body]).toEqual([
      503,
      expect.stringContaining("waiting for the first list of "),
    ]);
    expect((await started.get("/healthz")).status).toBe(200);
  }, 60_000);

  const refusals: Record<string, [args: string[], code: number, message: string]> = {
    "a kubeconfig that does not exist": [
      ["--kubeconfig", "/nonexistent"],
      1,
      "netaminity: cannot read the kubeconfig /nonexistent: ",
    ],
    "no cluster around": [
      [],
      1,
      "netaminity: not inside a pod (KUBERNETES_SERVICE_HOST is not set): give the path of a kubeconfig with --kubeconfig",
    ],
    "a wrong number of workers": [["--workers", "0"], 2, 'netaminity: workers was given "0"'],
  };
  for (const [name, [args, code, message]] of Object.entries(refusals)) {
    test(`ends with ${code} and one line for ${name}`, async () => {
      await using operator = startProcess([executable, "operator", ...args]);
      expect(await operator.exited()).toBe(code);
      expect(operator.log.lines.map((line) => line.message)).toEqual([expect.stringContaining(message)]);
    });
  }
});
