import type { ProxyResource } from "../api/proxy.ts";
import type { ObjectMeta, OwnerReference } from "../api/resource.ts";
import type { TargetResource } from "../api/target.ts";
import { groupVersion, labels } from "../names.ts";
import { pairName } from "./names.ts";

/** Labels of a Proxy's children and pods; those of a Tunnel's pair are found by the Tunnel's consumer Service. */
export function proxyLabels(proxy: ProxyResource): Record<string, string> {
  return { ...pairLabels(proxy.metadata), [labels.component]: "proxy", [labels.proxy]: proxy.metadata.name };
}

export function targetLabels(target: TargetResource): Record<string, string> {
  return { ...pairLabels(target.metadata), [labels.component]: "target", [labels.target]: target.metadata.name };
}

/** The reference to the Tunnel of which this is a part. Another product's kind Tunnel is none. */
export function controllingTunnel({
  ownerReferences,
}: Pick<ObjectMeta, "ownerReferences">): OwnerReference | undefined {
  const owner = ownerReferences?.find(({ controller }) => controller === true);
  return owner?.apiVersion === groupVersion && owner.kind === "Tunnel" ? owner : undefined;
}

/** The Tunnel comes from the controller reference, not from a label: a label that a user sets must not attract traffic. */
function pairLabels(metadata: ObjectMeta): Record<string, string> {
  const { name } = metadata;
  const owner = controllingTunnel(metadata);
  if (owner === undefined) return {};
  const index = name.slice(owner.name.length + 1);
  return /^\d{1,2}$/.test(index) && name === pairName(owner.name, Number(index))
    ? { [labels.tunnel]: owner.name, [labels.index]: index }
    : {};
}
