import { reportGuarantees } from "../agent/net/guarantees.ts";
import { startProxy } from "../agent/proxy/proxy.ts";
import { proxyRole } from "../config/proxy.ts";
import { formatHostPort } from "../endpoint.ts";
import { createMetrics } from "../metrics.ts";
import { listenForStop } from "./lifetime.ts";
import { resolveListen } from "./listen.ts";
import { serveUntilStopped } from "./serve.ts";
import { agentSecrets, settingsAndLog } from "./settings.ts";

export async function runProxy(args: readonly string[]): Promise<void> {
  const stop = listenForStop();
  const { settings, log } = settingsAndLog(proxyRole, args);
  const { deadline, acceptProxyProtocol, encryption, drainTimeout } = settings;
  const listen = await resolveListen("listen", settings.listen, log);
  const consumerListen = await resolveListen("consumer-listen", settings.consumerListen, log);
  const healthListen = await resolveListen("health-listen", settings.healthListen, log);
  await using secrets = await agentSecrets(settings, log);
  const metrics = createMetrics();
  reportGuarantees(log, metrics);
  const role = await startProxy({
    listen,
    consumerListen,
    secrets,
    deadline,
    acceptProxyProtocol,
    encryption,
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
    listening: (port) =>
      log.info("listening", {
        rendezvous: formatHostPort({ host: listen.host, port: role.rendezvousPort }),
        consumers: formatHostPort({ host: consumerListen.host, port: role.consumerPort }),
        health: formatHostPort({ host: healthListen.host, port }),
      }),
  });
}
