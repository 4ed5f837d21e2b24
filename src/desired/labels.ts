import type { ProxyResource } from "../api/proxy.ts";
import type { ObjectMeta } from "../api/resource.ts";
import type { TargetResource } from "../api/target.ts";
import { labels } from "../names.ts";

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
