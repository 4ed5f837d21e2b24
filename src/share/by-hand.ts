import { stringify } from "yaml";
// The unit of the documents: what is said of it there holds for the one that is printed.
import unit from "../../examples/netaminity-target.service" with { type: "text" };
import { formatHostPort } from "../endpoint.ts";
import type { OtherSide } from "./other-side.ts";

/** The secret cannot be said in the form that was asked for. */
export class UnsayableSecretError extends Error {
  override readonly name = "UnsayableSecretError";
}

function settingsOf({ proxyEndpoint, backend, encryption }: OtherSide): Record<string, string> {
  return {
    NETAMINITY_PROXY_ENDPOINT: formatHostPort(proxyEndpoint),
    NETAMINITY_ENDPOINT: formatHostPort(backend),
    NETAMINITY_ENCRYPTION: encryption,
  };
}

const lines = (settings: Record<string, string>) =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");

/**
 * A file of variables, as shells, systemd and container programs read it. They differ in how they quote, so only a secret that none of them
 * takes for something else is written; one that the operator or openssl made is. Throws UnsayableSecretError.
 */
export function envFile(side: OtherSide): string {
  if (!/^[A-Za-z0-9+/=_.,:@%-]+$/.test(side.secret)) {
    throw new UnsayableSecretError(
      "the secret has characters that programs read differently in a file of variables; accepted with --as env: letters, digits and + / = _ . , : @ % -",
    );
  }
  return lines({ ...settingsOf(side), NETAMINITY_SECRET: side.secret });
}

/** A file for docker compose, in which a dollar sign stands for a variable unless it is doubled. */
export function composeFile(side: OtherSide, image: string): string {
  const environment = { ...settingsOf(side), NETAMINITY_SECRET: side.secret.replaceAll("$", "$$$$") };
  const service = { image, command: ["target"], environment, restart: "always", stop_grace_period: "45s" };
  return stringify({ services: { [side.name]: service } }, { compat: "yaml-1.1", lineWidth: 0 });
}

/**
 * A script for the shell of root that writes the unit, its settings and the secret, which only root may read, and starts the service. The
 * executable is there already.
 */
export function systemdScript(side: OtherSide): string {
  const folder = "/etc/netaminity";
  const service = `netaminity-${side.name}`;
  const ownUnit = unit
    .replaceAll(`${folder}/target.env`, `${folder}/${side.name}.env`)
    .replaceAll(`${folder}/secret`, `${folder}/${side.name}.secret`);
  return `#!/bin/sh
# Sets up the service ${service}. It contains a secret. Run it as root where /usr/local/bin/netaminity is.
set -eu
test -x /usr/local/bin/netaminity || { echo "/usr/local/bin/netaminity is not there" >&2; exit 1; }
umask 077
mkdir -p ${folder}
base64 -d > ${folder}/${side.name}.secret <<'END'
${Buffer.from(side.secret).toString("base64")}
END
cat > ${folder}/${side.name}.env <<'END'
${lines(settingsOf(side))}END
cat > /etc/systemd/system/${service}.service <<'END'
${ownUnit}END
chmod 644 /etc/systemd/system/${service}.service
systemctl daemon-reload
systemctl enable ${service}
systemctl restart ${service}
`;
}
