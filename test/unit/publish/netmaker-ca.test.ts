import { expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPublishMetrics } from "../../../src/publish/metrics.ts";
import { createNetmakerApi } from "../../../src/publish/netmaker-api.ts";
import { createCertificateAuthority, issueCertificate } from "../../support/cluster/certificates.ts";
import { startNetmaker } from "../../support/netmaker.ts";

test("a server whose certificate is of another authority is told nothing, least of all the password", async () => {
  const folder = await mkdtemp(join(tmpdir(), "netaminity-ca-"));
  try {
    const [own, stranger] = await Promise.all(
      ["own", "stranger"].map((name) => createCertificateAuthority(join(folder, name))),
    );
    if (own === undefined || stranger === undefined) throw new Error("no authority");
    const { certificate: cert, key } = await issueCertificate(own, "server", {
      commonName: "netmaker",
      names: ["IP:127.0.0.1"],
    });
    await using netmaker = await startNetmaker({ cert, key });
    netmaker.join("a");
    const hostsBy = (ca: string | undefined) => {
      const endpoint = {
        url: netmaker.url,
        ca: () => ca,
        userAgent: "test",
        metrics: createPublishMetrics(),
        timing: { call: 2000, firstPause: 1, maxPause: 1 },
      };
      const api = createNetmakerApi(endpoint, () => ({ username: "netaminity", password: "correct horse" }));
      return api.hosts(new AbortController().signal);
    };
    await expect(hostsBy(stranger.certificate)).rejects.toThrow("no answer from");
    await expect(hostsBy(undefined)).rejects.toThrow("no answer from");
    expect(netmaker.requests).toEqual([]);
    expect((await hostsBy(own.certificate)).map(({ name }) => name)).toEqual(["a"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
