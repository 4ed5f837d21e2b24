/** The two tunnels that most scenarios share. */
import { groupVersion } from "../../src/names.ts";
import { environmentLabel } from "../support/cluster/node-config.ts";
import { backendEndpoint, tunnelNamespace } from "../support/e2e/peers.ts";

/** The documented one: two pairs with two proxy pods each. */
export const privateApiAddress = `private-api.${tunnelNamespace}.svc:30080`;

export const echoAddress = `echo.${tunnelNamespace}.svc:80`;

/** One pair, so that nothing but its own standby can help: the hardest case for failover. */
export const echoTunnel = {
  ...{ apiVersion: groupVersion, kind: "Tunnel", metadata: { name: "echo", namespace: tunnelNamespace } },
  spec: {
    service: { name: "echo", port: 80 },
    proxy: { replicas: 2, podTemplate: { nodeSelector: { [environmentLabel]: "cloud" } } },
    target: { endpoint: backendEndpoint, podTemplate: { nodeSelector: { [environmentLabel]: "private" } } },
  },
};
