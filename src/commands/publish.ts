import { publishRole } from "../config/publish.ts";
import type { Values } from "../config/table.ts";
import { version } from "../config/version.ts";
import { formatHostPort } from "../endpoint.ts";
import { errorText, StartError } from "../errors.ts";
import { builtIn } from "../kube/resources.ts";
import type { Log } from "../log.ts";
import { type OpenProvider, openNetmaker, openNetsody } from "../publish/open.ts";
import { reportExitCode, reportText } from "../publish/report.ts";
import { type PublishOptions, publishOnce, startPublisher } from "../publish/run.ts";
import { listenForStop } from "./lifetime.ts";
import { resolveListen } from "./listen.ts";
import { print } from "./print.ts";
import { findCredentials, startHealthOf } from "./role.ts";
import { settingsAndLog } from "./settings.ts";
import { stopWithin } from "./stop-within.ts";

type Settings = Values<typeof publishRole.settings>;

export async function runPublish(args: readonly string[]): Promise<void> {
  const stop = listenForStop();
  const { settings, log } = settingsAndLog(publishRole, args);
  const options = await publishOptions(settings, log);
  if (settings.check || settings.once) {
    await once(options);
  }
  const healthListen = await resolveListen("health-listen", settings.healthListen, log);
  const publisher = startPublisher(options);
  const health = startHealthOf(publisher, healthListen);
  log.info("listening", {
    health: formatHostPort({ host: healthListen.host, port: health.port }),
    server: options.credentials.server,
    provider: settings.provider,
    netsody: publisher.servedPort,
    dryRun: settings.dryRun || undefined,
  });
  log.info("stopping", { signal: await stop.first });
  await stopWithin(publisher, log);
  health.stop();
  process.exit(0);
}

async function once(options: PublishOptions): Promise<never> {
  try {
    const done = await publishOnce(options);
    await print(reportText(done));
    process.exit(reportExitCode(done));
  } catch (error) {
    throw new StartError(errorText(error), { cause: error });
  }
}

async function publishOptions(settings: Settings, log: Log): Promise<PublishOptions> {
  const credentials = findCredentials(settings);
  const namespace = settings.leaderElectNamespace ?? credentials.namespace ?? "default";
  return {
    credentials,
    open: await openOf(settings, namespace, log),
    interval: settings.interval,
    dryRun: settings.dryRun || settings.check,
    lease: settings.leaderElect ? { namespace, name: settings.leaseName } : undefined,
    version,
    log,
  };
}

async function openOf(settings: Settings, namespace: string, log: Log): Promise<OpenProvider> {
  const { force, adoptKaputNot, clusterName } = settings;
  if (settings.provider === "netsody") {
    const { kind, name: objectName } = settings.netsodyOutput;
    return openNetsody({
      baseFile: settings.netsodyBase ?? "",
      output: { kind, namespace, objectName },
      table: settings.netsodyTable,
      groups: settings.netsodyGroups,
      listen: await resolveListen("netsody-listen", settings.netsodyListen, log),
      networkName: settings.netsodyNetwork,
      username: settings.netsodyUsername,
      password: settings.netsodyPassword,
      passwordFile: settings.netsodyPasswordFile,
      force,
    });
  }
  const url = settings.netmakerApiUrl ?? "";
  if (url.startsWith("http:")) {
    log.warn("netmaker-api-url is not encrypted: everyone on the way sees the password", { url });
  }
  const { apiVersion, kind } = builtIn.lease;
  return openNetmaker({
    url,
    login: {
      token: settings.netmakerToken,
      tokenFile: settings.netmakerTokenFile,
      username: settings.netmakerUsername,
      password: settings.netmakerPassword,
      passwordFile: settings.netmakerPasswordFile,
      folder: settings.netmakerCredentials,
    },
    caFile: settings.netmakerCaFile,
    ...{ clusterName, force, adoptKaputNot, version },
    regarded: { apiVersion, kind, metadata: { namespace, name: settings.leaseName, uid: "" } },
  });
}
