import { operatorRole } from "../config/operator.ts";
import type { Values } from "../config/table.ts";
import { version } from "../config/version.ts";
import { formatHostPort } from "../endpoint.ts";
import type { Credentials } from "../kube/credentials.ts";
import { startOperator } from "../operator/run.ts";
import type { PlanSettings } from "../plan/observed.ts";
import { readNetworkPolicy, readPodTemplate } from "./agent-defaults.ts";
import { listenForStop } from "./lifetime.ts";
import { resolveListen } from "./listen.ts";
import { findCredentials, startHealthOf } from "./role.ts";
import { settingsAndLog } from "./settings.ts";
import { stopWithin } from "./stop-within.ts";

type Settings = Values<typeof operatorRole.settings>;

export async function runOperator(args: readonly string[]): Promise<void> {
  const stop = listenForStop();
  const { settings, log } = settingsAndLog(operatorRole, args);
  const planned = planSettings(settings);
  const healthListen = await resolveListen("health-listen", settings.healthListen, log);
  const credentials = findCredentials(settings);
  const operator = startOperator({
    credentials,
    settings: planned,
    namespaces: settings.namespace ?? [],
    workers: settings.workers,
    leaseNamespace: settings.leaderElect ? leaseNamespace(settings, credentials) : undefined,
    version,
    log,
  });
  const health = startHealthOf(operator, healthListen);
  log.info("listening", {
    health: formatHostPort({ host: healthListen.host, port: health.port }),
    server: credentials.server,
    namespaces: settings.namespace?.join(",") ?? "all",
  });
  log.info("stopping", { signal: await stop.first });
  await stopWithin(operator, log);
  health.stop();
  process.exit(0);
}

function leaseNamespace({ leaderElectNamespace }: Settings, credentials: Credentials): string {
  return leaderElectNamespace ?? credentials.namespace ?? "default";
}

function planSettings(settings: Settings): PlanSettings {
  return {
    ...(settings.proxyHost === undefined ? {} : { proxyHost: settings.proxyHost }),
    maxRollouts: settings.maxRollouts,
    ...(settings.agentNetworkPolicy === undefined
      ? {}
      : { networkPolicy: readNetworkPolicy(settings.agentNetworkPolicy) }),
    agent: {
      ...(settings.agentPodTemplate === undefined ? {} : { podTemplate: readPodTemplate(settings.agentPodTemplate) }),
      image: settings.agentImage,
      pullPolicy: settings.agentImagePullPolicy,
      pullSecrets: settings.agentImagePullSecrets ?? [],
      drainTimeout: Math.ceil(settings.drainTimeout / 1000),
      logLevel: settings.agentLogLevel ?? settings.logLevel,
      logFormat: settings.agentLogFormat ?? settings.logFormat,
    },
  };
}
