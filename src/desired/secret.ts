import type { V1Secret } from "@kubernetes/client-node";
import type { ProxyResource } from "../api/proxy.ts";
import type { TunnelResource } from "../api/tunnel.ts";
import { labels, secretKey } from "../names.ts";
import type { DesiredObject } from "./desired.ts";
import { childMetadata } from "./metadata.ts";
import { proxySecretName, tunnelSecretName } from "./names.ts";

/**
 * The Secret that both sides share, to be created once: of a Tunnel, or of a Proxy that names none.
 * `secret` is text (32 random bytes in base64), which is what the agents read from the file.
 */
export function ownSecret(owner: TunnelResource | ProxyResource, secret: string): V1Secret & DesiredObject {
  return { ...ownSecretMetadata(owner), type: "Opaque", data: { [secretKey]: btoa(secret) } };
}

/** The same without data: keeps labels and owner as they should be and leaves the data to whoever rotates it. */
export function ownSecretMetadata(owner: TunnelResource | ProxyResource): DesiredObject {
  const { name } = owner.metadata;
  const metadata =
    owner.kind === "Tunnel"
      ? childMetadata(owner, tunnelSecretName(name), { [labels.tunnel]: name })
      : childMetadata(owner, proxySecretName(name), { [labels.proxy]: name });
  return { apiVersion: "v1", kind: "Secret", metadata };
}
