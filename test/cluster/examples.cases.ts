/** Every document that users are invited to apply, exactly as it is printed, and what the operator makes from it. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { ProxyResource } from "../../src/api/proxy.ts";
import type { TargetResource } from "../../src/api/target.ts";
import type { TunnelResource } from "../../src/api/tunnel.ts";
import { pairProxy, pairTarget } from "../../src/desired/pair.ts";
import { apiGroup } from "../../src/names.ts";
import { encryptionStep } from "../../src/plan/encryption.ts";
import type { PlanSettings } from "../../src/plan/observed.ts";
import { planProxy } from "../../src/plan/proxy.ts";
import { planTarget } from "../../src/plan/target.ts";
import { planTunnel } from "../../src/plan/tunnel.ts";
import type { ControlPlane } from "../support/cluster/index.ts";
import { sharedPlane } from "./plane.ts";

const root = join(import.meta.dir, "../..");
const namespace = "examples";

type Own = TunnelResource | ProxyResource | TargetResource;

const settings: PlanSettings = {
  proxyHost: "nodes.example.net",
  agent: {
    image: "netaminity:test",
    pullPolicy: "Never",
    pullSecrets: [],
    drainTimeout: 30,
    logLevel: "info",
    logFormat: "json",
  },
};

/** The YAML files of examples/, and the YAML blocks of the documents, by where they stand. */
async function documents(): Promise<[place: string, yaml: string][]> {
  const files = await Array.fromAsync(new Bun.Glob("examples/**/*.yaml").scan({ cwd: root }));
  const pages = ["README.md", ...(await Array.fromAsync(new Bun.Glob("docs/**/*.md").scan({ cwd: root })))];
  const texts = await Promise.all(
    files.sort().map(async (file) => [file, await Bun.file(join(root, file)).text()] as const),
  );
  const blocks = await Promise.all(
    pages.sort().map(async (page) => {
      const text = await Bun.file(join(root, page)).text();
      return [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)]
        .map(([, yaml = ""]) => yaml)
        .filter((yaml) => yaml.includes("kind:"))
        .map((yaml, index) => [`${page}, block ${index + 1}`, yaml] as const);
    }),
  );
  return [...texts, ...blocks.flat()].map(([place, yaml]) => [place, yaml]);
}

/** What the API server would store; nothing is. Refuses what it refuses. */
async function dryRun<T>(plane: ControlPlane, manifest: string): Promise<T> {
  const args = ["apply", "--server-side", "--dry-run=server", "-o", "json", "-n", namespace, "-f", "-"];
  return JSON.parse(await plane.kubectl(args, { input: manifest }));
}

const stored = <T>(plane: ControlPlane, object: object) => dryRun<T>(plane, JSON.stringify(object));

const nothing = { settings, now: "2026-01-01T00:00:00Z", failures: [], secret: undefined };
const noPods = {
  deployments: [],
  replicaSets: [],
  services: [],
  endpointSlices: [],
  networkPolicies: [],
  pods: [],
  nodes: undefined,
  probes: [],
  takenNodes: [],
  freshSecret: "",
};

/** Everything that the operator applies for the object, down to the Deployments of a Tunnel's pairs. */
async function childrenOf(plane: ControlPlane, object: Own): Promise<object[]> {
  switch (object.kind) {
    case "Proxy":
      return [...planProxy({ ...nothing, ...noPods, proxy: object }).apply];
    case "Target":
      return [...planTarget({ ...nothing, ...noPods, target: object }).apply];
    case "Tunnel": {
      const none = { services: [], proxies: [], targets: [], leftPairs: [] };
      const plan = planTunnel({ ...nothing, ...none, tunnel: object, freshSecret: "" });
      const sides = encryptionStep(object.spec.encryption, undefined, undefined);
      const proxy = await stored<ProxyResource>(plane, pairProxy(object, 0, sides.proxy));
      const target = await stored<TargetResource>(plane, pairTarget(object, 0, "proxy.example.net:7835", sides.target));
      return [...plan.apply, ...(await childrenOf(plane, proxy)), ...(await childrenOf(plane, target))];
    }
  }
}

describe("documents that users apply", async () => {
  const all = await documents();

  test("are there: examples, the two patterns of the README, and the second one by hand", () => {
    const places = all.map(([place]) => place);
    expect(places.filter((place) => place.startsWith("examples/")).length).toBe(6);
    expect(places.filter((place) => place.startsWith("README.md")).length).toBe(2);
    expect(places.filter((place) => place.startsWith("docs/two-clusters.md")).length).toBe(3);
  });

  test.each(all)(
    "%s is accepted as printed, and so is what follows from it",
    async (_, yaml) => {
      const plane = await sharedPlane();
      await plane.createNamespace(namespace);
      const object = await dryRun<Own>(plane, yaml);
      expect(object.metadata.uid).not.toBe("");
      // Documents show objects of others too, an autoscaler for example.
      if (!object.apiVersion.startsWith(`${apiGroup}/`)) return;
      const children = await childrenOf(plane, object);
      expect(children.length).toBeGreaterThan(0);
      for (const child of children) {
        expect(await stored<Own>(plane, child)).toMatchObject({ metadata: { namespace } });
      }
    },
    60_000,
  );
});
