import type { V1Secret } from "@kubernetes/client-node";
import type { TunnelResource } from "../api/tunnel.ts";
import { labels, secretKey } from "../names.ts";
import type { DesiredObject } from "./desired.ts";
import { childMetadata } from "./metadata.ts";
import { tunnelSecretName } from "./names.ts";

/**
 * The Secret that both sides of a Tunnel share, to be created once.
 * `secret` is text (32 random bytes in base64), which is what the agents read from the file.
 */
export function tunnelSecret(tunnel: TunnelResource, secret: string): V1Secret & DesiredObject {
  return { ...tunnelSecretMetadata(tunnel), type: "Opaque", data: { [secretKey]: btoa(secret) } };
}

/** The same without data: keeps labels and owner as they should be and leaves the data to whoever rotates it. */
export function tunnelSecretMetadata(tunnel: TunnelResource): DesiredObject {
  const { name } = tunnel.metadata;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: childMetadata(tunnel, tunnelSecretName(name), { [labels.tunnel]: name }),
  };
}
