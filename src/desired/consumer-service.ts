import type { V1Service } from "@kubernetes/client-node";
import type { ProxyResource } from "../api/proxy.ts";
import type { TunnelResource, TunnelSpec } from "../api/tunnel.ts";
import { labels } from "../names.ts";
import { appProtocol } from "./app-protocol.ts";
import type { DesiredObject } from "./desired.ts";
import { childMetadata, type Owner, withUserMetadata } from "./metadata.ts";
import { selectorOf } from "./pod-template.ts";
import { serviceOptions } from "./service-options.ts";

/** The Service of a Tunnel that leads to the proxy pods of all its pairs; only those that carry a session are ready. */
export function tunnelConsumerService(tunnel: TunnelResource): V1Service & DesiredObject {
  const ownLabels = { [labels.tunnel]: tunnel.metadata.name };
  return consumerService(tunnel, tunnel.spec.service, ownLabels, { [labels.component]: "proxy", ...ownLabels });
}

/** The consumer Service of a Proxy, when it asks for one. */
export function proxyConsumerService(proxy: ProxyResource): (V1Service & DesiredObject) | undefined {
  if (proxy.spec.service === undefined) return undefined;
  const { name } = proxy.metadata;
  return consumerService(proxy, proxy.spec.service, { [labels.proxy]: name }, selectorOf("proxy", name));
}

function consumerService(
  owner: Owner,
  service: TunnelSpec["service"],
  ownLabels: Record<string, string>,
  selector: Record<string, string>,
): V1Service & DesiredObject {
  const { name, port, nodePort } = service;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: withUserMetadata(childMetadata(owner, name, ownLabels), service),
    spec: {
      ...serviceOptions(service),
      selector,
      ports: [
        {
          name: "consumers",
          protocol: "TCP",
          appProtocol,
          port,
          targetPort: "consumers",
          ...(nodePort !== undefined && { nodePort }),
        },
      ],
    },
  };
}
