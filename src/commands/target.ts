import { reportGuarantees } from "../agent/net/guarantees.ts";
import { startTarget } from "../agent/target/target.ts";
import { targetRole } from "../config/target.ts";
import { formatHostPort } from "../endpoint.ts";
import { createMetrics } from "../metrics.ts";
import { listenForStop } from "./lifetime.ts";
import { resolveListen } from "./listen.ts";
import { serveUntilStopped } from "./serve.ts";
import { agentSecrets, meantVia, settingsAndLog } from "./settings.ts";

export async function runTarget(args: readonly string[]): Promise<void> {
  const stop = listenForStop();
  const { settings, log } = settingsAndLog(targetRole, args);
  const { proxyEndpoint, endpoint, drainTimeout } = settings;
  const via = meantVia(settings.via);
  const healthListen = await resolveListen("health-listen", settings.healthListen, log);
  await using secrets = await agentSecrets(settings, log);
  const metrics = createMetrics();
  reportGuarantees(log, metrics);
  const role = await startTarget({
    proxyEndpoint,
    via,
    endpoint,
    secrets,
    deadline: settings.deadline,
    borePort: settings.borePort,
    poolMin: settings.poolMin,
    poolMax: settings.poolMax,
    sendProxyProtocol: settings.sendProxyProtocol,
    encryption: settings.encryption,
    log,
    metrics,
  });
  await serveUntilStopped({
    role,
    healthListen,
    drainTimeout,
    metrics: () => metrics.expose(),
    stop,
    log,
    listening: (port) => log.info("listening", { health: formatHostPort({ host: healthListen.host, port }) }),
  });
}
