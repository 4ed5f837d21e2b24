import type { Family, Range } from "./address.ts";
import { meshTable } from "./names.ts";
import { addressType, expressions, members, type Table } from "./table.ts";
import { rangeTexts } from "./whole-ip-table.ts";

export interface MeshSettings {
  /** Names of the mesh's interfaces; they may come and go. */
  interfaces: readonly string[];
  /** Also what pods send to others than pods. */
  all: boolean;
}

/**
 * What pods send to pods over the mesh leaves with the node's address, since a mesh that checks sources drops a pod's. What they send to nodes keeps its source
 * unless `all`. Undefined when no pod has an address of the family.
 */
export function meshTableOf(
  { interfaces, all }: MeshSettings,
  podCidrs: readonly Range[],
  family: Family,
): Table | undefined {
  const pods = rangeTexts(podCidrs, family);
  if (pods.length === 0) {
    return undefined;
  }
  const is = expressions(family);
  const toPods = all ? [] : [is.destinationIn("pods")];
  return {
    family,
    name: meshTable,
    sets: [
      { name: "pods", key: [addressType[family]], isInterval: true, elements: members(pods) },
      { name: "interfaces", key: ["ifname"], elements: members(interfaces) },
    ],
    chains: [
      {
        name: "postrouting",
        type: "nat",
        hook: "postrouting",
        // Before others' masquerading, and after the whole-IP Services' table.
        priority: 99,
        rules: [[is.sourceIn("pods"), ...toPods, is.leavesBy("interfaces"), is.masquerade]],
      },
    ],
  };
}
