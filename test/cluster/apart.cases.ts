import { expect, test } from "bun:test";
import { resources } from "../../src/operator/resources.ts";
import { localAddresses, makeNodes, nextAddress, reportPod, untilPods } from "./kubelet.ts";
import { type Live, makeTunnel } from "./objects.ts";
import { type Site, startSite, untilAtRest } from "./site.ts";

const activePod = async (site: Site, proxy: string): Promise<string | undefined> => {
  const slices = await site.objects.list(resources.endpointSlice, `kubernetes.io/service-name=${proxy}-rendezvous`);
  return slices.flatMap((slice) => slice.endpoints ?? [])[0]?.targetRef?.name;
};

test("pairs that serve consumers from one node are parted once all is at rest, and woken by each other's moves", async () => {
  // Without the right to read nodes: a node of a test has been ready for no longer than the test runs.
  await using site = await startSite("apart", {
    operator: { timing: { probe: { active: 100, standby: 100, slow: 100, doubtful: 100 } } },
  });
  const [a = "", b = ""] = ["a", "b"].map((name) => `${site.namespace}-${name}`);
  await using _nodes = await makeNodes(site.plane, site.objects, [a, b]);
  // The scheduler leaves them alone: the test binds pods itself.
  for (const name of [a, b]) {
    await site.plane.api.request(`/api/v1/nodes/${name}`, { method: "PATCH", body: { spec: { unschedulable: true } } });
  }
  const addresses = Array.from({ length: 4 }, () => nextAddress());
  await using _addresses = await localAddresses(addresses);
  const servers = addresses.map((hostname) => Bun.serve({ hostname, port: 8080, fetch: () => new Response("alive") }));
  await site.objects.create(makeTunnel("db", { replicas: 2, proxy: { replicas: 2 } }));
  const report = (pod: Live | undefined, index: number, ready: boolean, node?: string): Promise<void> => {
    if (pod === undefined) throw new Error("no such pod");
    const state = { ready, ip: addresses[index] ?? "" };
    return reportPod(site.plane, site.objects, pod, node === undefined ? state : { ...state, node });
  };
  const untilActive = (proxy: string, pod: Live | undefined) =>
    site.until(`active pod of ${proxy}`, async () => (await activePod(site, proxy)) === pod?.metadata.name);

  const [first0, standby0] = await untilPods(site.objects, { proxy: "db-0" }, 2);
  const [first1, standby1] = await untilPods(site.objects, { proxy: "db-1" }, 2);
  await report(first0, 0, true, a);
  await report(first1, 1, true, a);
  await untilActive("db-0", first0);
  await untilActive("db-1", first1);
  await report(standby0, 2, false, b);
  await report(standby1, 3, false, b);
  await untilActive("db-1", standby1);
  // The target has a session with the new one, and after a while none with the old one.
  await report(standby1, 3, true);
  await report(first1, 1, false);
  await untilAtRest(site);
  expect([await activePod(site, "db-0"), await activePod(site, "db-1")]).toEqual([
    first0?.metadata.name,
    standby1?.metadata.name,
  ]);

  // The first pair loses its pod and has to go to the other node. Nothing but that wakes the second one.
  await site.objects.remove(resources.pod, first0?.metadata.name ?? "", 0);
  await untilActive("db-0", standby0);
  await untilActive("db-1", first1);
  for (const server of servers) await server.stop(true);
}, 90_000);
