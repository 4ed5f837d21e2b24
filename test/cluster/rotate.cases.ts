/** `rotate` as people run it: the compiled executable against the API server, with real agents as the pods. */
import { describe, expect, test } from "bun:test";
import { mkdtempDisposable, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fingerprintOf } from "../../src/fingerprint.ts";
import { labels } from "../../src/names.ts";
import { resources } from "../../src/operator/resources.ts";
import { startProcess } from "../support/process.ts";
import { connectTcp, listenEcho } from "../support/tcp-ends.ts";
import { executable } from "../support/tunnel-compiled.ts";
import { localAddresses, nextAddress, runPods } from "./kubelet.ts";
import { makeProxy, makeSecret, makeTunnel } from "./objects.ts";
import { startSite } from "./site.ts";

import { backend, documentsIn, run, start } from "./tool.ts";

/** What a kubelet does with the Secret of a pod: its keys become files. */
async function mount(folder: string, data: Record<string, string>): Promise<void> {
  for (const key of ["previous-secret", "secret"]) {
    const [path, value] = [join(folder, key), data[key]];
    if (value === undefined) await rm(path, { force: true });
    else {
      await Bun.write(`${path}.new`, Buffer.from(value, "base64"));
      await rename(`${path}.new`, path);
    }
  }
}

const filesIn = (folder: string) => ({
  NETAMINITY_SECRET_FILE: join(folder, "secret"),
  NETAMINITY_PREVIOUS_SECRET_FILE: join(folder, "previous-secret"),
  NETAMINITY_LOG_FORMAT: "json",
});

/** Consumers that come one after the other until disposed; each sends and wants it back. */
function load(host: string, port: number) {
  let stopped = false;
  const counts = { exchanged: 0, failed: [] as string[] };
  const work = async () => {
    while (!stopped) {
      try {
        await using consumer = await connectTcp(port, { host });
        await consumer.send("ping");
        await consumer.untilReceived(4);
        counts.exchanged += 1;
      } catch (error) {
        counts.failed.push(String(error));
      }
    }
  };
  const working = [work(), work()];
  return {
    counts,
    async stop() {
      stopped = true;
      await Promise.all(working);
      return counts;
    },
  };
}

describe("netaminity rotate", () => {
  test("replaces the secret of a Proxy and of its target elsewhere under load, interrupted and taken up again, and nobody notices", async () => {
    await using site = await startSite("rotate");
    const { objects, plane } = site;
    const address = nextAddress();
    await using _addresses = await localAddresses([address]);
    await using echo = await listenEcho();
    await using here = await mkdtempDisposable(join(tmpdir(), "netaminity-here-"));
    await using there = await mkdtempDisposable(join(tmpdir(), "netaminity-there-"));
    await objects.create(makeProxy("edge", { secretRef: undefined }));
    const data = async () => (await objects.get(resources.secret, "edge-proxy-secret"))?.data;
    const first = await site.until("its Secret", data);
    await mount(here.path, first);
    await mount(there.path, first);
    await using proxy = startProcess([executable(), "proxy"], {
      ...filesIn(here.path),
      NETAMINITY_LISTEN: `${address}:7835`,
      NETAMINITY_CONSUMER_LISTEN: `${address}:30080`,
      NETAMINITY_HEALTH_LISTEN: `${address}:8080`,
    });
    await proxy.log.first("listening");
    await using target = startProcess([executable(), "target"], {
      ...filesIn(there.path),
      NETAMINITY_PROXY_ENDPOINT: `${address}:7835`,
      NETAMINITY_ENDPOINT: `127.0.0.1:${echo.port}`,
      NETAMINITY_HEALTH_LISTEN: "127.0.0.1:0",
    });
    await target.log.first("session up");
    await using _pods = runPods(
      plane,
      objects,
      () => true,
      () => address,
    );
    await site.until("the pod runs", async () => {
      return (await objects.get(resources.proxy, "edge"))?.status?.liveReplicas === 1;
    });
    await using long = await connectTcp(30080, { host: address });
    await long.send("before ");
    await long.untilReceived(7);
    const consumers = load(address, 30080);

    // No kubelet brings the new value yet. It is given up, as with Ctrl+C.
    const interrupted = start(site, ["rotate", "proxy/edge"]);
    const beside = await site.until("the new value beside the old one", async () => {
      const now = await data();
      return now?.["previous-secret"] === undefined ? undefined : now;
    });
    expect(beside["previous-secret"]).toBe(first.secret ?? "");
    expect(beside.secret).not.toBe(first.secret ?? "");
    interrupted.kill("SIGINT");
    await interrupted.exited;
    expect(await data()).toEqual(beside);
    const late = await run(site, ["rotate", "proxy/edge", "--timeout", "1s"]);
    expect([late.code, late.out]).toEqual([1, ""]);
    expect(late.errors).toContain("has not read the new value yet");
    expect(late.errors).toContain("both values stay valid. Run the same again to go on");
    expect(await data()).toEqual(beside);

    const taken = start(site, ["rotate", "proxy/edge", "--export", "--name", "inner"]);
    const errors = taken.stderr.text();
    await mount(here.path, beside);
    // It ends long before the rotation does, which waits for what is made of it.
    const [printed] = documentsIn(await taken.stdout.text());
    expect(printed).toEqual({
      ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "inner-tunnel" }, type: "Opaque" },
      data: { secret: beside.secret ?? "" },
    });
    expect((await data())?.["previous-secret"]).toBe(first.secret ?? "");
    await mount(there.path, printed.data);
    expect([await taken.exited, await errors]).toEqual([0, expect.stringContaining("holds ")]);
    const [old, fresh] = await Promise.all([first, beside].map(({ secret = "" }) => fingerprintOf(atob(secret))));
    expect((await errors).split("\n").filter((line) => /^\d/.test(line))).toEqual([
      `1/4 Secret edge-proxy-secret holds ${fresh} beside ${old} already: going on with that rotation`,
      `2/4 waiting until every agent here has read ${fresh}; the kubelets bring it within about a minute`,
      `3/4 waiting until every session uses ${fresh}`,
      `4/4 removed ${old} from Secret edge-proxy-secret: only ${fresh} is accepted, as soon as the agents have read that`,
    ]);
    expect(await data()).toEqual({ secret: beside.secret ?? "" });
    await mount(here.path, { secret: beside.secret ?? "" });

    await long.send("after");
    await long.untilReceived(12);
    const { exchanged, failed } = await consumers.stop();
    expect({ failed, text: long.text() }).toEqual({ failed: [], text: "before after" });
    expect(exchanged).toBeGreaterThan(10);
    expect(proxy.log.all("session lost")).toEqual([]);
    expect(target.log.all("session lost")).toEqual([]);
  }, 120_000);

  test("does not touch what another controller keeps, and knows which agents cannot tell", async () => {
    await using site = await startSite("rotate-refused");
    const { objects, plane } = site;
    await plane.kubectl(["create", "configmap", "keeper", "-n", site.namespace]);
    const uid = await plane.kubectl([
      "get",
      "configmap",
      "keeper",
      "-n",
      site.namespace,
      "-o",
      "jsonpath={.metadata.uid}",
    ]);
    const kept = makeSecret("edge-key");
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "keeper", uid, controller: true }];
    await objects.create({ ...kept, metadata: { ...kept.metadata, ownerReferences } });
    await objects.create(makeProxy("edge"));
    const before = await objects.get(resources.secret, "edge-key");
    const answer = await run(site, ["rotate", "proxy/edge"]);
    expect([answer.code, answer.errors]).toEqual([
      1,
      expect.stringContaining("Secret edge-key is kept by ConfigMap keeper, which would put its own value back"),
    ]);
    expect(await objects.get(resources.secret, "edge-key")).toEqual(before);

    await objects.create(makeTunnel("api"));
    await using _pods = runPods(plane, objects, (pod) => pod.metadata.labels?.[labels.component] === "proxy");
    await site.until("its pods run", async () => {
      const pods = await objects.list(resources.pod, `${labels.tunnel}=api`);
      return pods.length === 2 && pods.every(({ status }) => status?.phase === "Running");
    });
    const unread = await run(site, ["rotate", "tunnel/api", "--timeout", "1s"]);
    expect([unread.code, unread.errors]).toEqual([
      1,
      expect.stringMatching(/pod api-0-proxy-\S+ does not say which secret it has/),
    ]);
    // And whoever knows better says so.
    const forced = await run(site, ["rotate", "tunnel/api", "--force"]);
    expect([forced.code, Object.keys((await objects.get(resources.secret, "api-secret"))?.data ?? {})]).toEqual([
      0,
      ["secret"],
    ]);
  }, 90_000);

  test("with the rights of the role edit alone", async () => {
    await using site = await startSite("rotate-rights");
    const { objects, plane, namespace } = site;
    await objects.create(makeProxy("edge", { secretRef: undefined, replicas: 0 }));
    await site.until("its Secret", () => objects.get(resources.secret, "edge-proxy-secret"));
    const nobody = await plane.serviceAccountKubeconfig(namespace, "somebody");
    const refused = await run(site, ["export", "proxy/edge", ...backend, "--in-cluster"], nobody);
    expect([refused.code, refused.errors]).toEqual([3, expect.stringContaining("not allowed: proxies.")]);
    const binding = ["--serviceaccount", `${namespace}:somebody`, "-n", namespace];
    await plane.kubectl(["create", "rolebinding", "edits", "--clusterrole", "edit", ...binding]);
    const own = ["--verb=get,list", "--resource=tunnels.netaminity.exeteres.net,proxies.netaminity.exeteres.net"];
    const more = "--resource=targets.netaminity.exeteres.net";
    // What the chart adds to the role.
    await plane.kubectl(["create", "role", "reads", ...own, more, "-n", namespace]);
    await plane.kubectl(["create", "rolebinding", "reads", "--role", "reads", ...binding]);
    expect(
      await run(site, ["export", "proxy/edge", ...backend, "--in-cluster", "--wait", "20s"], nobody),
    ).toMatchObject({ code: 0 });
    expect(await run(site, ["rotate", "proxy/edge"], nobody)).toMatchObject({ code: 0 });
  }, 60_000);
});
