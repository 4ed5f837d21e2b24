/** `export` as people run it: the compiled executable against the API server. */
import { describe, expect, test } from "bun:test";
import { mkdtempDisposable, readdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fingerprintOf } from "../../src/fingerprint.ts";
import { resources } from "../../src/operator/resources.ts";
import { runPods } from "./kubelet.ts";
import { conditionOf, makeProxy, makeSecret } from "./objects.ts";
import { startSite } from "./site.ts";

import { backend, documentsIn, run } from "./tool.ts";

describe("netaminity export", () => {
  test("prints Secret and Target once the endpoint is known, which kubectl applies, and the operator takes", async () => {
    await using site = await startSite("export");
    const { objects, plane, namespace } = site;
    await objects.create(makeProxy("edge", { secretRef: undefined, proxyService: { type: "LoadBalancer" } }));
    await site.until("its Secret", () => objects.get(resources.secret, "edge-proxy-secret"));
    const unknown = await run(site, ["export", "proxy/edge", ...backend]);
    expect([unknown.code, unknown.out]).toEqual([1, ""]);
    expect(unknown.errors).toMatch(/^netaminity: Proxy edge has no endpoint yet.*; --wait 5m waits for it\n$/);

    const waiting = run(site, ["export", "proxy/edge", ...backend, "--wait", "30s"]);
    await site.until("the Service", () => objects.get(resources.service, "edge-rendezvous"));
    const ingress = { status: { loadBalancer: { ingress: [{ ip: "192.0.2.7" }] } } };
    await objects.patch(resources.service, "edge-rendezvous", ingress, "status");
    const { code, out, errors } = await waiting;
    const secret = (await objects.get(resources.secret, "edge-proxy-secret"))?.data?.secret ?? "";
    expect(code).toBe(0);
    expect(documentsIn(out)).toEqual([
      { apiVersion: "v1", kind: "Secret", metadata: { name: "edge-tunnel" }, type: "Opaque", data: { secret } },
      {
        apiVersion: "netaminity.exeteres.net/v1",
        kind: "Target",
        metadata: { name: "edge" },
        spec: {
          secretRef: { name: "edge-tunnel" },
          endpoint: "private-api.private.svc:8080",
          proxyEndpoint: "192.0.2.7:7835",
          encryption: "required",
        },
      },
    ]);
    expect(errors).toContain(
      `contains the SECRET of Proxy ${namespace}/edge (fingerprint ${await fingerprintOf(atob(secret))})`,
    );
    expect(errors + unknown.errors).not.toContain(secret);

    await plane.kubectl(["apply", "-n", namespace, "-f", "-"], { input: out });
    await using _pods = runPods(plane, objects, () => true);
    await site.until(
      "Ready",
      async () => conditionOf(await objects.get(resources.target, "edge")) === "True SessionUp",
    );
  }, 120_000);

  test("writes files that only their owner may read, whatever was there before", async () => {
    await using site = await startSite("export-file");
    await site.objects.create(makeSecret("edge-key"));
    await site.objects.create(makeProxy("edge"));
    await using folder = await mkdtempDisposable(join(tmpdir(), "netaminity-export-"));
    const [fresh, open] = [join(folder.path, "fresh"), join(folder.path, "open")];
    await Bun.write(open, "x".repeat(10_000));
    const args = ["export", "proxy/edge", ...backend, "--in-cluster", "--wait", "30s", "--as", "compose", "--output"];
    for (const path of [fresh, open]) {
      expect(await run(site, [...args, path])).toMatchObject({ code: 0, out: "" });
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(documentsIn(await Bun.file(path).text())[0].services.edge.environment.NETAMINITY_SECRET).toBe(
        "correct horse battery staple",
      );
    }
    const nowhere = await run(site, [...args, join(folder.path, "absent", "file")]);
    expect([nowhere.code, nowhere.errors]).toEqual([1, expect.stringContaining("cannot be written")]);
    expect((await readdir(folder.path)).sort()).toEqual(["fresh", "open"]);
  }, 60_000);

  test.each<[string, string[], string]>([
    ["a rendezvous that only the cluster reaches", [], "type ClusterIP, which only this cluster reaches"],
    ["a Proxy that is not there", ["proxy/other"], "Proxy other does not exist in this namespace"],
    [
      "a secret that a file of variables cannot hold",
      ["--in-cluster", "--as", "env", "--wait", "20s"],
      "the secret has characters that programs read differently",
    ],
    [
      "plain text where the Proxy wants TLS",
      ["--in-cluster", "--encryption", "off", "--wait", "20s"],
      "requires encryption",
    ],
  ])(
    "refuses %s",
    async (_, args, message) => {
      await using site = await startSite("export-refused");
      await site.objects.create(makeSecret("edge-key"));
      await site.objects.create(makeProxy("edge", { encryption: "required" }));
      const object = args[0]?.includes("/") === true ? [] : ["proxy/edge"];
      const answer = await run(site, ["export", ...object, ...args, ...backend]);
      expect([answer.code, answer.out]).toEqual([1, ""]);
      expect(answer.errors).toContain(message);
    },
    60_000,
  );
});
