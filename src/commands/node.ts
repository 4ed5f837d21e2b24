import { nodeRole } from "../config/node.ts";
import type { Values } from "../config/table.ts";
import { version } from "../config/version.ts";
import { formatHostPort } from "../endpoint.ts";
import { errorText, StartError } from "../errors.ts";
import { startHealth } from "../health.ts";
import type { Log } from "../log.ts";
import { parseCidrs } from "../node/address.ts";
import { removeTables, untilReady } from "../node/cleanup.ts";
import { replacement } from "../node/document.ts";
import { createNft } from "../node/nft.ts";
import { type NodeOptions, startNode, wantedTables } from "../node/run.ts";
import { listenForStop } from "./lifetime.ts";
import { resolveListen } from "./listen.ts";
import { print } from "./print.ts";
import { findCredentials, startHealthOf } from "./role.ts";
import { settingsAndLog } from "./settings.ts";

type Settings = Values<typeof nodeRole.settings>;

/** Milliseconds that `--dry-run` waits for the API server, and stopping for what still runs. */
const listTimeout = 30_000;
const stopTimeout = 5_000;

export async function runNode(args: readonly string[]): Promise<void> {
  const { settings, log } = settingsAndLog(nodeRole, args);
  if (settings.cleanup) {
    await cleanUp(settings, log);
  } else if (settings.dryRun) {
    await printTables(settings, log);
  } else {
    await run(settings, log);
  }
  process.exit(0);
}

async function run(settings: Settings, log: Log): Promise<void> {
  const stop = listenForStop();
  const listen = await resolveListen("health-listen", settings.healthListen, log);
  const options = optionsOf(settings, log);
  const role = startNode(options);
  const health = startHealthOf(role, listen);
  log.info("listening", {
    health: formatHostPort({ host: listen.host, port: health.port }),
    server: options.credentials.server,
    node: settings.nodeName,
  });
  log.info("stopping; the tables stay", { signal: await stop.first });
  await Promise.race([role.stop(), Bun.sleep(stopTimeout)]);
  health.stop();
}

async function printTables(settings: Settings, log: Log): Promise<void> {
  const signal = AbortSignal.timeout(listTimeout);
  const { tables, notes, notReady } = await wantedTables(optionsOf(settings, log), signal);
  if (notReady !== undefined) {
    throw new StartError(`the API server has not told what there is within ${listTimeout / 1000} s: ${notReady}`);
  }
  for (const { service, reason, message } of notes) {
    const { namespace, name } = service.metadata;
    log.warn("whole-IP Service", { service: `${namespace}/${name}`, reason, message });
  }
  await print(`${JSON.stringify({ nftables: tables.flatMap(replacement) }, undefined, 1)}\n`);
}

async function cleanUp(settings: Settings, log: Log): Promise<void> {
  const stop = listenForStop();
  if (settings.awaitDaemonset !== undefined) {
    const [namespace = "", name = ""] = settings.awaitDaemonset.split("/");
    const isReady = await untilReady({ credentials: findCredentials(settings), version, namespace, name });
    log[isReady ? "info" : "warn"](isReady ? "all nodes are clean" : "not all nodes have cleaned up in time", {
      daemonSet: settings.awaitDaemonset,
    });
    return;
  }
  const removed = await removeTables(createNft()).catch((error: unknown) => {
    throw new StartError(errorText(error), { cause: error });
  });
  log.info("tables removed", { tables: removed.join(", ") || "none were there" });
  if (settings.stay) {
    const listen = await resolveListen("health-listen", settings.healthListen, log);
    const metrics = async () => ({ contentType: "text/plain", body: "" });
    const health = startHealth({ listen, notReady: () => undefined, metrics });
    await stop.first;
    health.stop();
  }
}

function optionsOf(settings: Settings, log: Log): NodeOptions {
  return {
    credentials: findCredentials(settings),
    settings: {
      node: settings.nodeName ?? "",
      podCidrs: parseCidrs(settings.podCidr ?? []),
      serviceCidrs: parseCidrs(settings.serviceCidr ?? []),
      compatCozystack: settings.compatCozystack,
    },
    mesh: settings.masquerade ? { interfaces: settings.meshInterface ?? [], all: settings.masqueradeAll } : undefined,
    version,
    log,
  };
}
