import { doctorRole, type Patient } from "../config/doctor.ts";
import type { Values } from "../config/table.ts";
import { byHandPath } from "../doctor/by-hand-checks.ts";
import { type Diagnosis, diagnose, exitCodes } from "../doctor/check.ts";
import { openCluster } from "../doctor/cluster.ts";
import { diagnoseObject } from "../doctor/diagnose-object.ts";
import { examineByHand } from "../doctor/examine-by-hand.ts";
import { diagnosisJson, diagnosisText } from "../doctor/report.ts";
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

async function inCluster(patient: Patient, settings: Settings): Promise<Diagnosis> {
  const cluster = openCluster(settings);
  const namespace = settings.namespace ?? cluster.namespace;
  return await diagnoseObject(cluster, patient, { namespace, probes: settings.probe });
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
