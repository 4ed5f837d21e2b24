import { describe, expect, test } from "bun:test";
import { labels } from "../../src/names.ts";
import { type PolicyRule, rbac } from "../../src/operator/rbac.ts";
import { resources } from "../../src/operator/resources.ts";
import { localAddresses, nextAddress, runPods } from "./kubelet.ts";
import { conditionOf, makeProxy, makeSecret, makeTunnel } from "./objects.ts";
import { restrictEndpoints } from "./openshift.ts";
import { type Site, startSite } from "./site.ts";

/** One right: `group/resource verb`. */
type Right = string;

const rightsOf = (rules: readonly PolicyRule[]): Right[] =>
  rules.flatMap(({ apiGroups, resources: plurals, verbs }) =>
    apiGroups.flatMap((group) => plurals.flatMap((plural) => verbs.map((verb) => `${group}/${plural} ${verb}`))),
  );

const ruleOf = (right: Right): PolicyRule => {
  const [, group = "", plural = "", verb = ""] = /^([^/]*)\/(\S+) (\w+)$/.exec(right) ?? [];
  return { apiGroups: [group], resources: [plural], verbs: [verb as PolicyRule["verbs"][number]] };
};

const refusal = /cannot (\w+) resource \\"([\w/]+)\\" in API group \\"([^"\\]*)\\"/g;

/** What the API server refused so far, as the operator logs and reports it. */
async function refusedRights(site: Site): Promise<Right[]> {
  const statuses = await Promise.all(
    ["tunnel", "proxy", "target"].map((kind) => site.objects.list(resources[kind as "tunnel"])),
  );
  const text = JSON.stringify([site.log, statuses]);
  return [...text.matchAll(refusal)].map(([, verb, plural, group]) => `${group}/${plural} ${verb}`);
}

/** Grants to an operator without any rights whatever it is refused, until disposed. */
function grantWhatIsRefused(site: Site) {
  const granted = new Set<Right>();
  const stop = new AbortController();
  const write = async () => {
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${site.namespace}/roles/operator`;
    await site.plane.api.request(path, { method: "PATCH", body: { rules: [...granted].map(ruleOf) } });
  };
  const round = async () => {
    const missing = (await refusedRights(site)).filter((right) => !granted.has(right));
    for (const right of missing) {
      granted.add(right);
    }
    if (missing.length > 0) {
      await write();
    }
  };
  const loop = async () => {
    while (!stop.signal.aborted) {
      // A busy API server may not answer in time; the next round looks at the same log again.
      await round().catch(() => granted.clear());
      site.operator.resync();
      await Bun.sleep(300);
    }
  };
  const running = loop();
  return {
    granted,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

describe("the chart's rules", () => {
  test("are exactly what an operator without any is refused while it does all that it can", async () => {
    const addresses = [nextAddress(), nextAddress()];
    await using _addresses = await localAddresses(addresses);
    const servers = addresses.map((hostname) =>
      Bun.serve({ hostname, port: 8080, fetch: () => new Response("alive") }),
    );
    await using site = await startSite("rights", {
      rules: [],
      leaderRules: [],
      operator: {
        timing: {
          probe: { active: 200, standby: 200, slow: 200, doubtful: 200 },
          watch: { firstBackoff: 50, maxBackoff: 300 },
        },
      },
    });
    const { objects } = site;
    await using _policy = await restrictEndpoints(site.plane, site.namespace);
    const rest = [...addresses];
    const isOwn = (pod: { metadata: { labels?: Record<string, string> } }) =>
      pod.metadata.labels?.[labels.proxy] === "own";
    await using _pods = runPods(
      site.plane,
      objects,
      () => true,
      (pod) => (isOwn(pod) ? rest.shift() : undefined) ?? nextAddress(),
    );
    await using grants = grantWhatIsRefused(site);
    const reason = async (kind: "tunnel" | "proxy", name: string) =>
      conditionOf(await objects.get(resources[kind], name));

    await objects.create(makeTunnel("db", { networkPolicy: { from: [{ podSelector: {} }] } }));
    await site.until("tunnel ready", async () => (await reason("tunnel", "db")) === "True AllPairsReady", 120_000);
    await objects.patch(resources.secret, "db-secret", { metadata: { labels: { [labels.name]: "edited" } } });
    await site.until(
      "Secret put back",
      async () => (await objects.get(resources.secret, "db-secret"))?.metadata.labels?.[labels.name] === "netaminity",
    );
    const change = { service: { name: "sql" }, networkPolicy: null, proxy: { replicas: 0 } };
    await objects.patch(resources.tunnel, "db", { spec: change });
    await site.until("policy gone", async () => (await objects.names(resources.networkPolicy)).length === 0);
    await site.until("old Service gone", async () => (await objects.get(resources.service, "db")) === undefined);
    await site.until(
      "slice gone",
      async () => (await objects.get(resources.endpointSlice, "db-0-rendezvous-ipv4")) === undefined,
    );
    await objects.patch(resources.tunnel, "db", { spec: { replicas: 0 } });
    await site.until(
      "pair gone",
      async () => (await objects.names(resources.proxy)).length + (await objects.names(resources.target)).length === 0,
    );

    await objects.create(makeProxy("own", { replicas: 2 }));
    for (let time = 0; time < 3; time += 1) {
      await site.until("secret missing", async () => (await reason("proxy", "own")) === "False SecretMissing");
      await objects.create(makeSecret("own-key"));
      await site.until("proxy ready", async () => (await reason("proxy", "own")) === "True Available");
      if (time < 2) {
        await objects.remove(resources.secret, "own-key");
      }
    }
    const active = (await objects.get(resources.proxy, "own"))?.status.activePod;
    const address = (await objects.get(resources.pod, active))?.status.podIP;
    await servers[addresses.indexOf(address)]?.stop(true);
    await site.until("silent pod deleted", async () => (await objects.get(resources.pod, active)) === undefined);
    await Promise.all(servers.map((server) => server.stop(true)));

    const rights = [
      ...new Set(rightsOf([...rbac.namespaced, ...rbac.platforms, ...rbac.guard, ...rbac.leaderElection])),
    ];
    // A lease that cannot be renewed is reported only when its time is nearly over.
    await site.until("every right refused once", async () => rights.every((right) => grants.granted.has(right)));
    expect([...grants.granted].sort()).toEqual(rights.sort());
  }, 240_000);

  test("about the cluster are needed one by one where all namespaces are served", async () => {
    for (const right of rightsOf(rbac.cluster)) {
      // What is there is listed only where no watch brings it.
      const isMissing = (other: Right) => other === right || other.replace(/ watch$/, " list") === right;
      const clusterRules = rightsOf(rbac.cluster)
        .filter((other) => !isMissing(other))
        .map(ruleOf);
      await using site = await startSite("nodes", { clusterWide: true, clusterRules });
      await site.until(right, async () => (await refusedRights(site)).includes(right));
    }
  }, 60_000);
});
