import type { PodTemplate } from "../api/pod-template.ts";
import type { ProxyResource, ProxySpec } from "../api/proxy.ts";
import type { TargetResource, TargetSpec } from "../api/target.ts";
import type { TunnelResource } from "../api/tunnel.ts";
import { groupVersion, labels } from "../names.ts";
import type { DesiredObject } from "./desired.ts";
import { childMetadata } from "./metadata.ts";
import { pairName, tunnelSecretName } from "./names.ts";
import { overridden } from "./pod-template.ts";

/** What a pair's two sides are to be set to; while encryption is switched on or off they differ from the Tunnel's wish for a while. */
export interface PairEncryption {
  proxy: ProxySpec["encryption"];
  target: TargetSpec["encryption"];
}

/** The Proxy of pair `index`. It has no consumer Service of its own: the Tunnel's selects the proxy pods of all pairs. */
export function pairProxy(
  tunnel: TunnelResource,
  index: number,
  encryption: PairEncryption["proxy"],
): DesiredObject & Pick<ProxyResource, "spec"> {
  const { podTemplate: shared, drainTimeout, paused, networkPolicy, proxy } = tunnel.spec;
  const { nodePort, ...proxyService } = proxy.proxyService;
  const podTemplate = overridden(shared, proxy.podTemplate);
  return {
    apiVersion: groupVersion,
    kind: "Proxy",
    metadata: pairMetadata(tunnel, index),
    spec: {
      replicas: proxy.replicas,
      secretRef: { name: tunnelSecretName(tunnel.metadata.name) },
      proxyService: { ...proxyService, ...(nodePort !== undefined && { nodePort: nodePort + index }) },
      encryption,
      acceptProxyProtocol: proxy.acceptProxyProtocol,
      ...(drainTimeout !== undefined && { drainTimeout }),
      ...(paused === true && { paused }),
      ...(podTemplate !== undefined && { podTemplate: withDefaults(podTemplate) }),
      ...(networkPolicy !== undefined && { networkPolicy }),
    },
  };
}

/** The Target of pair `index`, once it is known where its Proxy can be reached. */
export function pairTarget(
  tunnel: TunnelResource,
  index: number,
  proxyEndpoint: string,
  encryption: PairEncryption["target"],
): DesiredObject & Pick<TargetResource, "spec"> {
  const { podTemplate: shared, drainTimeout, paused, target } = tunnel.spec;
  const podTemplate = overridden(shared, target.podTemplate);
  return {
    apiVersion: groupVersion,
    kind: "Target",
    metadata: pairMetadata(tunnel, index),
    spec: {
      replicas: target.replicas,
      secretRef: { name: tunnelSecretName(tunnel.metadata.name) },
      endpoint: target.endpoint,
      proxyEndpoint,
      encryption,
      sendProxyProtocol: target.sendProxyProtocol,
      ...(drainTimeout !== undefined && { drainTimeout }),
      ...(paused === true && { paused }),
      ...(podTemplate !== undefined && { podTemplate: withDefaults(podTemplate) }),
    },
  };
}

/** As the API server would fill them in. */
function withDefaults(template: PodTemplate) {
  return { distributeByNodes: true, hostNetwork: false, ...template };
}

/** Metadata of the Proxy and of the Target of pair `index`. */
export function pairMetadata(tunnel: TunnelResource, index: number) {
  const { name } = tunnel.metadata;
  return childMetadata(tunnel, pairName(name, index), { [labels.tunnel]: name, [labels.index]: `${index}` });
}
