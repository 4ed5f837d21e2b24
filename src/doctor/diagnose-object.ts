import type { Patient } from "../config/doctor.ts";
import { type Diagnosis, diagnose } from "./check.ts";
import type { Cluster } from "./cluster.ts";
import { examineProxy, examineTarget, examineTunnel } from "./examine.ts";
import { examineService } from "./examine-service.ts";
import { type ProxyFacts, seen } from "./facts.ts";
import { proxyPath, targetPath, tunnelPath } from "./paths.ts";
import { servicePath } from "./service-checks.ts";
import { probe } from "./tunnel-probe.ts";

/** Examines the path of one object, and with `probes` sends a request through it. */
export async function diagnoseObject(
  cluster: Cluster,
  { kind, name }: Patient,
  { namespace, probes }: { namespace: string; probes: boolean },
): Promise<Diagnosis> {
  const subject = `${kind.toLowerCase()}/${name} in namespace ${namespace}`;
  const probed = async (proxies: readonly ProxyFacts[]) =>
    probes ? await probe(cluster, namespace, proxies) : undefined;
  switch (kind) {
    case "Service":
      return diagnose(subject, servicePath(name, await examineService(cluster, namespace, name)));
    case "Tunnel": {
      const facts = await examineTunnel(cluster, namespace, name);
      const result = await probed(facts.pairs.map(({ proxy }) => proxy));
      return diagnose(subject, tunnelPath(name, facts, result));
    }
    case "Proxy": {
      const facts = await examineProxy(cluster, namespace, name);
      return diagnose(subject, proxyPath(facts, await probed([facts])));
    }
    case "Target": {
      const facts = await examineTarget(cluster, namespace, name);
      // The Proxy of a pair has the name of its Target; any other is perhaps in another cluster.
      const isOfPair = seen(facts.object)?.metadata.ownerReferences?.some(({ kind: owner }) => owner === "Tunnel");
      const result =
        probes && isOfPair !== true
          ? { unknown: "consumers are at the Proxy: probe that, in its own cluster" }
          : await probed(probes ? [await examineProxy(cluster, namespace, name)] : []);
      return diagnose(subject, targetPath(facts, result));
    }
  }
}
