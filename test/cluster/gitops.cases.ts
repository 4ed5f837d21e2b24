/** What tools of others make of our conditions: kstatus (Flux, Helm) itself, and the health check for Argo CD of docs/gitops.md in the interpreter that Argo CD uses. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { parse } from "yaml";
import type { Resource } from "../../src/kube/resources.ts";
import { labels } from "../../src/names.ts";
import { resources } from "../../src/operator/resources.ts";
import { run } from "../support/cluster/command.ts";
import { buildGo } from "../support/go-program.ts";
import { podsOf, reportPod, runPods } from "./kubelet.ts";
import { type Live, makeProxy, makeSecret, makeTarget, makeTunnel } from "./objects.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

interface Judged {
  kstatus: string;
  argo: string;
  /** What both say about it. */
  messages: string[];
}

const page = join(import.meta.dir, "../../docs/gitops.md");

/** Asks both about objects of the cluster, as they are there. */
async function judges(): Promise<(objects: readonly object[]) => Promise<Judged[]>> {
  const program = await buildGo(join(import.meta.dir, "../support/gitops"), "gitops");
  const text = /```yaml\n(resource\.customizations: [\s\S]+?)```/.exec(await Bun.file(page).text())?.[1] ?? "";
  const customizations = parse(parse(text)["resource.customizations"]);
  const script = join(import.meta.dir, "../../.cache/go/health.lua");
  await Bun.write(script, customizations["netaminity.exeteres.net/*"]["health.lua"]);
  return async (objects) => {
    const input = objects.map((object) => JSON.stringify(object)).join("\n");
    const output = await run([program, script], { input });
    return output
      .trim()
      .split("\n")
      .map((line) => {
        const { kstatus, argo } = JSON.parse(line);
        return { kstatus: kstatus.status, argo: argo.status, messages: [kstatus.message, argo.message] };
      });
  };
}

async function liveOf({ objects }: Site, resource: Resource, name: string): Promise<object> {
  const live = await objects.get(resource, name);
  if (live === undefined) throw new Error(`${resource.kind} ${name} does not exist`);
  return live;
}

describe("tools that wait for objects of any kind", () => {
  test("take a fresh object for one in progress, also where no operator runs", async () => {
    const judge = await judges();
    await using site = await startSite("fresh");
    await site.operator.stop();
    const { objects } = site;
    await objects.create(makeTunnel("db"));
    await objects.create(makeProxy("db"));
    await objects.create(makeTarget("db"));
    const live = await Promise.all(
      [resources.tunnel, resources.proxy, resources.target].map((resource) => liveOf(site, resource, "db")),
    );
    expect(live).toMatchObject(
      live.map(() => ({ status: { conditions: [{ type: "Ready", status: "Unknown", reason: "Pending" }] } })),
    );
    for (const found of await judge(live)) {
      expect(found).toMatchObject({ kstatus: "InProgress", argo: "Progressing" });
    }
  }, 60_000);

  test("follow a Tunnel from its first pass over a change to its end", async () => {
    const judge = await judges();
    await using site = await startSite("followed");
    const { objects, plane } = site;
    let isReady = true;
    const isTarget = (pod: Live) => pod.metadata.labels?.[labels.target] !== undefined;
    await using _pods = runPods(plane, objects, (pod) => isReady || !isTarget(pod));
    const verdict = async () => (await judge([await liveOf(site, resources.tunnel, "db")]))[0];
    const until = (kstatus: string, argo: string) =>
      site.until(`${kstatus}, ${argo}`, async () => {
        const found = await verdict();
        return found?.kstatus === kstatus && found.argo === argo && found;
      });
    await objects.create(makeTunnel("db"));
    await until("Current", "Healthy");

    // New target pods without a session: the old ones have one, and the Tunnel says so of its earlier generation.
    isReady = false;
    await objects.patch(resources.tunnel, "db", { spec: { drainTimeout: "7s" } });
    await site.until("rolling out", async () =>
      (await until("InProgress", "Progressing")).messages[1]?.startsWith("RollingOut: "),
    );
    await untilAtRest(site);
    const changing = await liveOf(site, resources.tunnel, "db");
    expect(changing).toMatchObject({
      metadata: { generation: 2 },
      status: {
        observedGeneration: 2,
        conditions: [
          { type: "Ready", status: "True", observedGeneration: 1 },
          { type: "Available", status: "True", observedGeneration: 1 },
          { type: "Updated", status: "False", observedGeneration: 2 },
          { type: "Reconciling", status: "True", reason: "RollingOut" },
        ],
      },
    });
    isReady = true;
    for (const pod of await podsOf(objects, { target: "db-0" })) {
      await reportPod(plane, objects, pod, { ready: true, ip: pod.status?.podIP ?? "" });
    }
    await until("Current", "Healthy");

    await objects.patch(resources.tunnel, "db", { spec: { paused: true, drainTimeout: "8s" } });
    await until("InProgress", "Suspended");
    await objects.patch(resources.tunnel, "db", { spec: { paused: null } });
    await until("Current", "Healthy");
    await objects.patch(resources.tunnel, "db", { spec: { replicas: 0 } });
    await until("InProgress", "Suspended");
  }, 150_000);

  test("wait for a Secret that is missing, and give up on one that is wrong", async () => {
    const judge = await judges();
    await using site = await startSite("secrets");
    const { objects } = site;
    await using _pods = runPods(site.plane, objects, () => true);
    const until = async (name: string, kstatus: string, argo: string) =>
      site.until(`${name} ${kstatus}, ${argo}`, async () => {
        const [found] = await judge([await liveOf(site, resources.target, name)]);
        return found?.kstatus === kstatus && found.argo === argo && found.messages;
      });
    await objects.create(makeTarget("db"));
    const missing = await until("db", "InProgress", "Progressing");
    await site.until("said", async () =>
      (await until("db", "InProgress", "Progressing")).every((message) =>
        message.includes("Secret db-key does not exist"),
      ),
    );
    expect(missing).toHaveLength(2);
    // The series are there though no pod is, which alerts need.
    const { body } = await site.operator.metrics.expose();
    const labels = `kind="Target",namespace="${site.namespace}",name="db",condition="Ready"`;
    expect(body).toContain(`netaminity_object_ready{${labels}} 0\n`);
    expect(body).toContain(`netaminity_object_reason{${labels},reason="SecretMissing"} 1\n`);
    await objects.create(makeSecret("db-key", { password: "no" }));
    const wrong = await until("db", "Failed", "Degraded");
    expect(wrong.every((message) => message.includes("has no key secret"))).toBe(true);
    await objects.patch(resources.secret, "db-key", { data: { secret: btoa("right") } });
    await until("db", "Current", "Healthy");
    const after = (await site.operator.metrics.expose()).body;
    expect(after).toContain(`netaminity_object_ready{${labels}} 1\n`);
    expect(after).not.toContain(`netaminity_object_reason{${labels}`);
  }, 90_000);
});
