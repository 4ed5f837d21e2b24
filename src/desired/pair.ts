import type { PodTemplate } from "../api/pod-template.ts";
import type { ProxyResource, ProxySpec } from "../api/proxy.ts";
import type { ObjectMeta } from "../api/resource.ts";
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
  const { podTemplate: shared, drainTimeout, proxy } = tunnel.spec;
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
      ...(podTemplate !== undefined && { podTemplate: withDefaults(podTemplate) }),
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
  const { podTemplate: shared, drainTimeout, target } = tunnel.spec;
  const podTemplate = overridden(shared, target.podTemplate);
  return {
    apiVersion: groupVersion,
    kind: "Target",
    metadata: pairMetadata(tunnel, index),
    spec: {
      secretRef: { name: tunnelSecretName(tunnel.metadata.name) },
      endpoint: target.endpoint,
      proxyEndpoint,
      encryption,
      sendProxyProtocol: target.sendProxyProtocol,
      ...(drainTimeout !== undefined && { drainTimeout }),
      ...(podTemplate !== undefined && { podTemplate: withDefaults(podTemplate) }),
    },
  };
}

/** Labels of a Proxy's children and pods; those of a Tunnel's pair are found by the Tunnel's consumer Service. */
export function proxyLabels(proxy: ProxyResource): Record<string, string> {
  return { ...pairLabels(proxy.metadata), [labels.component]: "proxy", [labels.proxy]: proxy.metadata.name };
}

export function targetLabels(target: TargetResource): Record<string, string> {
  return { ...pairLabels(target.metadata), [labels.component]: "target", [labels.target]: target.metadata.name };
}

/** The Tunnel comes from the controller reference, not from a label: a label that a user sets must not attract traffic. */
function pairLabels(metadata: ObjectMeta): Record<string, string> {
  const tunnel = metadata.ownerReferences?.find((owner) => owner.controller && owner.kind === "Tunnel")?.name;
  if (tunnel === undefined) return {};
  return { [labels.tunnel]: tunnel, [labels.index]: metadata.name.slice(tunnel.length + 1) };
}

/** As the API server would fill them in. */
function withDefaults(template: PodTemplate) {
  return { distributeByNodes: true, hostNetwork: false, ...template };
}

function pairMetadata(tunnel: TunnelResource, index: number) {
  const { name } = tunnel.metadata;
  return childMetadata(tunnel, pairName(name, index), { [labels.tunnel]: name, [labels.index]: `${index}` });
}
