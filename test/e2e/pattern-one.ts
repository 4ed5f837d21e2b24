/** One cluster with a split network: the documented Tunnel, with each way to the rendezvous. */
import { beforeAll, describe, expect, test } from "bun:test";
import { backendNamespace, tunnelNamespace } from "../support/e2e/peers.ts";
import { addressOf, cloudNodes, type Site } from "../support/e2e/site.ts";
import { startProcess } from "../support/process.ts";
import { executable } from "../support/tunnel-compiled.ts";
import { tunnelDocument } from "./documents.ts";
import { echoAddress, echoTunnel, privateApiAddress } from "./tunnels.ts";

const digestOfMegabyte = (): { body: string; digest: string } => {
  const body = "0123456789abcdef".repeat(65_536);
  return { body, digest: new Bun.CryptoHasher("sha256").update(body).digest("hex") };
};

export function patternOne(siteNow: () => Site): void {
  describe("one cluster, split networks", () => {
    let site: Site;

    beforeAll(async () => {
      site = siteNow();
      const apply = ["apply", "--namespace", tunnelNamespace, "-f", "-"];
      await site.cluster.kubectl(apply, { input: tunnelDocument });
      await site.cluster.apply([echoTunnel]);
    }, 60_000);

    test("cloud pods cannot open a connection to the private side", async () => {
      const [backend] = await site.cluster.pods.list(backendNamespace);
      const address = `${backend?.status?.podIP}:8080`;
      const greeting = await site.cluster.runIn("private-1", ["curl", "-s", "--max-time", "5", `http://${address}/`]);
      expect(greeting).toBe(`private api on ${backend?.metadata?.name}\n`);
      for (const node of cloudNodes) {
        const consumer = await site.consumerOn(node);
        for (const to of [address, "private-api.private.svc:8080"]) {
          expect(await consumer.connect(to, { timeout: 3000 })).toMatchObject({ result: "timeout" });
        }
      }
    }, 30_000);

    test("the documented Tunnel becomes Ready and shows each pair's NodePort", async () => {
      const { kinds, cluster } = site;
      await kinds.until("tunnel", "private-api", { Ready: "True", Updated: "True" }, 90_000);
      const host = addressOf(cluster, "cloud-1");
      const endpoints = await Promise.all(
        ["private-api-0", "private-api-1"].map(async (name) => (await kinds.get("proxy", name)).status?.proxyEndpoint),
      );
      expect(endpoints).toEqual([`${host}:31035`, `${host}:31036`]);
    }, 100_000);

    test("consumer pods on both cloud nodes reach the backend through the documented Tunnel", async () => {
      const { body, digest } = digestOfMegabyte();
      for (const node of cloudNodes) {
        const consumer = await site.consumerOn(node);
        await consumer.untilServed(privateApiAddress);
        const url = `http://${privateApiAddress}`;
        expect(await consumer.request({ url })).toEqual({
          status: 200,
          body: expect.stringMatching(/^private api on private-api-/),
        });
        expect(await consumer.request({ method: "POST", url: `${url}/digest`, body })).toEqual({
          status: 200,
          body: digest,
        });
        expect(await consumer.connect(privateApiAddress, { bytes: 1_000_000 })).toMatchObject({ result: "ok" });
      }
    }, 30_000);

    test("netaminity doctor finds it healthy and sends a request all the way, though it cannot ask the private pods", async () => {
      const command = ["doctor", "tunnel/private-api", "-n", tunnelNamespace, "--probe", "-o", "json"];
      await using doctor = startProcess([executable(), ...command], { KUBECONFIG: site.cluster.kubeconfig });
      const code = await doctor.exited(60_000);
      const { checks } = JSON.parse(doctor.log.lines.map(({ message }) => message).join("\n"));
      const seen = new Map(checks.map((check: Record<string, string>) => [check.link, check]));
      expect([code, seen.get("pair 0 backend"), seen.get("probe")]).toEqual([
        0,
        expect.objectContaining({
          outcome: "unknown",
          evidence: expect.stringContaining("the target pod cannot be asked"),
        }),
        expect.objectContaining({ outcome: "ok", evidence: expect.stringContaining("HTTP status 200") }),
      ]);
    }, 70_000);

    test("a Tunnel with a rendezvous of type ClusterIP carries the same traffic", async () => {
      await site.kinds.until("tunnel", "echo", { Ready: "True", Updated: "True" }, 90_000);
      expect((await site.kinds.get("proxy", "echo-0")).status?.proxyEndpoint).toBe(
        `echo-0-rendezvous.${tunnelNamespace}.svc:7835`,
      );
      for (const node of cloudNodes) {
        const consumer = await site.consumerOn(node);
        await consumer.untilServed(echoAddress);
        expect(await consumer.connect(echoAddress, { bytes: 1_000_000 })).toMatchObject({ result: "ok" });
      }
    }, 100_000);
  });
}
