import { describe, expect, test } from "bun:test";
import { resources } from "../../src/operator/resources.ts";
import {
  localAddresses,
  makeNodes,
  nextAddress,
  type PodState,
  reportPod,
  setNodeReady,
  untilPods,
} from "./kubelet.ts";
import { conditionOf, type Live, makeProxy, makeSecret } from "./objects.ts";
import { leads, type Site, startSite, untilAtRest } from "./site.ts";

/** The pods to which the rendezvous of the Proxy `db` leads. */
async function activePods(site: Site): Promise<(string | undefined)[]> {
  const slices = await site.objects.list(resources.endpointSlice, "kubernetes.io/service-name=db-rendezvous");
  return slices.flatMap((slice) => slice.endpoints ?? []).map(({ targetRef }) => targetRef?.name);
}

const untilActive = (site: Site, pod: Live | undefined) =>
  site.until(`active pod ${pod?.metadata.name}`, async () =>
    Bun.deepEquals(await activePods(site), pod === undefined ? [] : [pod.metadata.name]),
  );

/** A Proxy with so many pods, reported as told. */
async function proxyWithPods(site: Site, states: PodState[]): Promise<Live[]> {
  await site.objects.create(makeSecret("db-key"));
  await site.objects.create(makeProxy("db", { replicas: states.length }));
  const pods = await untilPods(site.objects, { proxy: "db" }, states.length);
  for (const [i, state] of states.entries()) {
    await report(site, pods[i], state);
  }
  return pods;
}

async function report(site: Site, pod: Live | undefined, state: PodState): Promise<void> {
  if (pod === undefined) throw new Error("no such pod");
  await reportPod(site.plane, site.objects, pod, state);
}

const standby = (): PodState => ({ ready: false, ip: nextAddress() });

describe("the rendezvous leads to exactly one live proxy pod", () => {
  test("which it keeps when others become ready and when the operator is replaced", async () => {
    await using site = await startSite("active");
    const [first, second] = await proxyWithPods(site, [standby()]).then(async (pods) => {
      await untilActive(site, pods[0]);
      await site.objects.patch(resources.proxy, "db", { spec: { replicas: 2 } });
      const both = await untilPods(site.objects, { proxy: "db" }, 2);
      return [pods[0], both.find((pod) => pod.metadata.name !== pods[0]?.metadata.name)];
    });
    await report(site, second, { ready: true, ip: nextAddress() });
    await untilAtRest(site);
    expect(await activePods(site)).toEqual([first?.metadata.name]);
    await site.restart();
    await untilAtRest(site);
    expect(await activePods(site)).toEqual([first?.metadata.name]);
    expect(await site.writes()).toEqual({});
    const proxy = await site.objects.get(resources.proxy, "db");
    expect([conditionOf(proxy), conditionOf(proxy, "Connected"), proxy?.status.activePod]).toEqual([
      "True Available",
      "True SessionUp",
      first?.metadata.name,
    ]);
  }, 90_000);

  test("and to another one when it is deleted or its agent is started again", async () => {
    await using site = await startSite("moved");
    const [first, second] = await proxyWithPods(site, [standby(), standby()]);
    await site.until("one active pod", async () => (await activePods(site)).length === 1);
    const [activeName] = await activePods(site);
    const [active, other] = activeName === first?.metadata.name ? [first, second] : [second, first];
    await site.objects.remove(resources.pod, active?.metadata.name ?? "");
    await untilActive(site, other);
    const pods = await untilPods(site.objects, { proxy: "db" }, 2);
    const third = pods.find((pod) => pod.metadata.name !== other?.metadata.name);
    await report(site, third, standby());
    await untilAtRest(site);
    expect(await activePods(site)).toEqual([other?.metadata.name]);
    const restarted = {
      name: "agent",
      image: "x",
      imageID: "x",
      containerID: "containerd://second-life",
      ready: false,
      restartCount: 1,
      state: { running: { startedAt: "2026-01-01T00:00:01Z" } },
    };
    await site.objects.patch(
      resources.pod,
      other?.metadata.name ?? "",
      { status: { containerStatuses: [restarted] } },
      "status",
    );
    await untilActive(site, third);
  }, 90_000);

  test("and to none while no pod lives, which the Proxy says", async () => {
    await using site = await startSite("nobody");
    const [only] = await proxyWithPods(site, [standby()]);
    await untilActive(site, only);
    await site.objects.patch(resources.proxy, "db", { spec: { replicas: 0 } });
    await untilActive(site, undefined);
    await site.until(
      "reason",
      async () => conditionOf(await site.objects.get(resources.proxy, "db")) === "False ScaledToZero",
    );
  }, 60_000);

  test("and leaves a node that is not ready", async () => {
    await using site = await startSite("nodes", { clusterWide: true });
    const nodes = ["a", "b"].map((name) => `${site.namespace}-${name}`);
    await using _nodes = await makeNodes(site.plane, site.objects, nodes);
    const states = nodes.map((node) => ({ ...standby(), node }));
    const [first, second] = await proxyWithPods(site, states);
    await site.until("one active pod", async () => (await activePods(site)).length === 1);
    const isFirst = (await activePods(site))[0] === first?.metadata.name;
    await setNodeReady(site.plane, nodes[isFirst ? 0 : 1] ?? "", "Unknown");
    await untilActive(site, isFirst ? second : first);
    await site.until("event", async () => {
      const events = (await site.objects.list(resources.event)) as unknown as { reason: string; note: string }[];
      return events.some(
        ({ reason, note }) => reason === "ActivePodChanged" && note.endsWith("is on a node that is not ready"),
      );
    });
  }, 90_000);

  test("and leaves one that no longer answers, and deletes it once its successor carries the session", async () => {
    await using site = await startSite("silent", {
      operator: { timing: { probe: { active: 100, standby: 100, slow: 100, doubtful: 100 } } },
    });
    const addresses = [nextAddress(), nextAddress()];
    await using _addresses = await localAddresses(addresses);
    const servers = addresses.map((hostname) =>
      Bun.serve({ hostname, port: 8080, fetch: () => new Response("alive") }),
    );
    const pods = await proxyWithPods(
      site,
      addresses.map((ip) => ({ ready: false, ip })),
    );
    await site.until("one active pod", async () => (await activePods(site)).length === 1);
    const [activeName] = await activePods(site);
    const index = pods.findIndex((pod) => pod.metadata.name === activeName);
    const [active, other] = [pods[index], pods[1 - index]];
    await report(site, active, { ready: true, ip: addresses[index] ?? "" });
    await site.until(
      "connected",
      async () => conditionOf(await site.objects.get(resources.proxy, "db"), "Connected") === "True SessionUp",
    );
    await servers[index]?.stop(true);
    await untilActive(site, other);
    expect((await site.objects.get(resources.pod, activeName ?? ""))?.metadata.deletionTimestamp).toBeUndefined();
    await report(site, other, { ready: true, ip: addresses[1 - index] ?? "" });
    await site.until(
      "silent pod deleted",
      async () => (await site.objects.get(resources.pod, activeName ?? "")) === undefined,
    );
    await servers[1 - index]?.stop(true);
  }, 90_000);

  test("and leaves it as soon as another replica leads, which asked nobody before that", async () => {
    await using site = await startSite("waiting", {
      operator: { timing: { probe: { active: 600_000, standby: 600_000, slow: 600_000, doubtful: 600_000 } } },
    });
    const addresses = [nextAddress(), nextAddress()];
    await using _addresses = await localAddresses(addresses);
    const pods = await proxyWithPods(
      site,
      addresses.map((ip) => ({ ready: false, ip })),
    );
    await site.until("one active pod", async () => (await activePods(site)).length === 1);
    const [activeName] = await activePods(site);
    const standing = pods.findIndex((pod) => pod.metadata.name !== activeName);
    const server = Bun.serve({ hostname: addresses[standing] ?? "", port: 8080, fetch: () => new Response("alive") });
    await using second = site.startReplica({
      timing: { probe: { active: 100, standby: 100, slow: 100, doubtful: 100 } },
    });
    await site.until("it knows the pods", async () => {
      const { values } = await second.operator.metrics.cachedObjects.get();
      return values.find(({ labels }) => labels.resource === "pods")?.value === pods.length;
    });
    const asked = (await second.operator.metrics.probes.get()).values;
    expect([await leads(second.operator), asked, await activePods(site)]).toEqual([false, [], [activeName]]);
    await site.operator.stop();
    await untilActive(site, pods[standing]);
    await server.stop(true);
  }, 90_000);

  test("and stays where it is when the operator reaches nobody", async () => {
    await using site = await startSite("unreached", {
      operator: { timing: { probe: { active: 50, standby: 50, slow: 50, doubtful: 50 } } },
    });
    // Nobody has these addresses, so that every probe fails at once.
    await proxyWithPods(site, [
      { ready: false, ip: "10.77.255.1" },
      { ready: true, ip: "10.77.255.2" },
    ]);
    await site.until("one active pod", async () => (await activePods(site)).length === 1);
    const before = await activePods(site);
    await site.until("many probes", async () => {
      const { values } = await site.operator.metrics.probes.get();
      return (values.find(({ labels }) => labels.result === "silent")?.value ?? 0) >= 12;
    });
    await untilAtRest(site);
    expect(await activePods(site)).toEqual(before);
    expect((await untilPods(site.objects, { proxy: "db" }, 2)).length).toBe(2);
  }, 90_000);
});
