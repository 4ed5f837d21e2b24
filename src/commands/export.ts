import type { ProxyResource } from "../api/proxy.ts";
import { exportRole } from "../config/export.ts";
import type { Values } from "../config/table.ts";
import { version } from "../config/version.ts";
import { secretNameOf } from "../desired/names.ts";
import { type Cluster, openCluster } from "../doctor/cluster.ts";
import { formatHostPort, type HostPort } from "../endpoint.ts";
import { StartError } from "../errors.ts";
import { fingerprintOf } from "../fingerprint.ts";
import type { ObservedSecret } from "../plan/observed.ts";
import { composeFile, envFile, systemdScript, UnsayableSecretError } from "../share/by-hand.ts";
import { manifest, meetingOf, type OtherSide, otherObjects, otherSecretName } from "../share/other-side.ts";
import { CannotRotateError, stageOf } from "../share/rotation.ts";
import { needed } from "./needed.ts";
import { printPrivately } from "./private-file.ts";
import { settingsOf } from "./settings.ts";

type Settings = Values<typeof exportRole.settings>;

/** Milliseconds between two looks of `wait`. */
const interval = 1000;

export async function runExport(args: readonly string[]): Promise<void> {
  const settings = settingsOf(exportRole, args);
  const cluster = openCluster(settings);
  const namespace = settings.namespace ?? cluster.namespace;
  const { proxy, endpoint } = await meet(cluster, namespace, settings);
  if (proxy.spec.encryption === "required" && settings.encryption === "off") {
    throw new StartError(`Proxy ${proxy.metadata.name} requires encryption; accepted: --encryption required`);
  }
  const secret = await secretOf(cluster, proxy);
  const side: OtherSide = {
    name: settings.name ?? proxy.metadata.name,
    namespace: settings.targetNamespace,
    proxyEndpoint: endpoint,
    backend: settings.backend,
    encryption: settings.encryption,
    secret,
  };
  const text = textOf(settings.as, side);
  process.stderr.write(`netaminity: ${await contents(settings.as, side, `${namespace}/${proxy.metadata.name}`)}\n`);
  await printPrivately(text, settings.output);
  process.exit(0);
}

/** The Proxy once its endpoint is known. Throws StartError when that is not to be used, or not known in time. */
async function meet(
  cluster: Cluster,
  namespace: string,
  { object, inCluster, wait }: Settings,
): Promise<{ proxy: ProxyResource; endpoint: HostPort }> {
  const until = performance.now() + wait;
  for (;;) {
    const proxy = needed(`Proxy ${object.name}`, await cluster.get<ProxyResource>("proxy", namespace, object.name));
    const meeting = meetingOf(proxy, { inCluster });
    if ("refusal" in meeting) throw new StartError(meeting.refusal);
    if ("endpoint" in meeting) return { proxy, endpoint: meeting.endpoint };
    if (performance.now() >= until) {
      throw new StartError(
        `${meeting.wait}; ${wait === 0 ? "--wait 5m waits for it" : "it did not come in the time of --wait"}`,
      );
    }
    await Bun.sleep(Math.min(interval, until - performance.now()));
  }
}

async function secretOf(cluster: Cluster, proxy: ProxyResource): Promise<string> {
  const { namespace } = proxy.metadata;
  const name = secretNameOf(proxy);
  const secret = needed(`Secret ${name}`, await cluster.get<ObservedSecret>("secret", namespace, name));
  try {
    // While it is being changed this is the new value: it is accepted already, and the old one will not be for long.
    return stageOf({ ...secret, metadata: { ...secret.metadata, ownerReferences: [] } }).current;
  } catch (error) {
    if (error instanceof CannotRotateError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}

function textOf(as: Settings["as"], side: OtherSide): string {
  switch (as) {
    case "kubernetes":
      return manifest(otherObjects(side));
    case "systemd":
      return systemdScript(side);
    case "compose":
      return composeFile(side, `ghcr.io/exeteres/netaminity:${version}`);
    case "env":
      try {
        return envFile(side);
      } catch (error) {
        if (error instanceof UnsayableSecretError) throw new StartError(error.message, { cause: error });
        throw error;
      }
  }
}

const forms: Readonly<Record<Settings["as"], (side: OtherSide) => string>> = {
  kubernetes: ({ name }) => `Secret ${otherSecretName(name)} and Target ${name}`,
  systemd: ({ name }) => `a script for root that sets up the service netaminity-${name}`,
  compose: ({ name }) => `a file for docker compose with the service ${name}`,
  env: () => "variables for netaminity target",
};

async function contents(as: Settings["as"], side: OtherSide, proxy: string): Promise<string> {
  const { proxyEndpoint, backend, encryption, secret } = side;
  const way = `${formatHostPort(proxyEndpoint)} to ${formatHostPort(backend)}, encryption ${encryption}`;
  return `contains the SECRET of Proxy ${proxy} (fingerprint ${await fingerprintOf(secret)}): whoever reads it can take its place. ${forms[as](side)}: from ${way}`;
}
