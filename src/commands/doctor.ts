import { doctorRole, type Patient } from "../config/doctor.ts";
import type { Values } from "../config/table.ts";
import { byHandPath } from "../doctor/by-hand-checks.ts";
import { type Diagnosis, diagnose, exitCodes } from "../doctor/check.ts";
import { openCluster } from "../doctor/cluster.ts";
import { examineProxy, examineTarget, examineTunnel } from "../doctor/examine.ts";
import { examineByHand } from "../doctor/examine-by-hand.ts";
import { examineService } from "../doctor/examine-service.ts";
import { type ProxyFacts, seen } from "../doctor/facts.ts";
import { proxyPath, targetPath, tunnelPath } from "../doctor/paths.ts";
import { diagnosisJson, diagnosisText } from "../doctor/report.ts";
import { servicePath } from "../doctor/service-checks.ts";
import { probe } from "../doctor/tunnel-probe.ts";
import { createLog } from "../log.ts";
import { openSecrets } from "../secret.ts";
import { proxyVariable } from "../via.ts";
import { print } from "./print.ts";
import { meantVia, settingsOf } from "./settings.ts";

type Settings = Values<typeof doctorRole.settings>;

export async function runDoctor(args: readonly string[]): Promise<void> {
  const settings = settingsOf(doctorRole, args);
  const diagnosis = await (settings.object === undefined ? byHand(settings) : inCluster(settings.object, settings));
  const colors = process.stdout.isTTY === true && !process.env.NO_COLOR;
  const text = settings.output === "json" ? diagnosisJson(diagnosis) : diagnosisText(diagnosis, { colors });
  await print(text);
  process.exit(exitCodes[diagnosis.verdict]);
}

async function inCluster({ kind, name }: Patient, settings: Settings): Promise<Diagnosis> {
  const cluster = openCluster(settings);
  const namespace = settings.namespace ?? cluster.namespace;
  const subject = `${kind.toLowerCase()}/${name} in namespace ${namespace}`;
  const probed = async (proxies: readonly ProxyFacts[]) =>
    settings.probe ? await probe(cluster, namespace, proxies) : undefined;
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
        settings.probe && isOfPair !== true
          ? { unknown: "consumers are at the Proxy: probe that, in its own cluster" }
          : await probed(settings.probe ? [await examineProxy(cluster, namespace, name)] : []);
      return diagnose(subject, targetPath(facts, result));
    }
  }
}

async function byHand(settings: Settings): Promise<Diagnosis> {
  const { proxyEndpoint, endpoint, encryption, secret: value, secretFile: file } = settings;
  const via = meantVia(settings.via);
  let secret: string | undefined;
  if (value !== undefined || file !== undefined) {
    await using secrets = await openSecrets({ value, file, log: createLog({ level: "error", format: "pretty" }) });
    secret = secrets.current[0];
  }
  const variable = proxyVariable(process.env);
  const facts = await examineByHand({ proxyEndpoint, via, variable, endpoint, secret, encryption });
  return diagnose("target by hand", byHandPath(facts));
}
