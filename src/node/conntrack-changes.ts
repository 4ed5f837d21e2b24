import type { Family } from "./address.ts";
import { wholeIpTable } from "./names.ts";
import type { Table } from "./table.ts";

/** Connections that the kernel has to forget, since it leads the packets of a known one where the first went. */
export interface Forgotten {
  family: Family;
  /** Addresses that led to another pod before, or to one at all: everything that was sent to them. */
  moved: readonly string[];
  /** Addresses that lead to a pod for the first time: datagrams alone, as those are sent again and again. */
  added: readonly string[];
  /** What a pod sent with an address that is not its own any more. */
  waysOut: readonly { pod: string; address: string }[];
}

/** Undefined when nothing is to be forgotten. */
export function forgottenBy(before: Table | undefined, after: Table | undefined): Forgotten | undefined {
  const table = after ?? before;
  if (table === undefined || table.name !== wholeIpTable) {
    return undefined;
  }
  const [was, is] = [leadsOf(before), leadsOf(after)];
  const [hadOut, hasOut] = [elementsOf(before, "local_snat"), elementsOf(after, "local_snat")];
  const moved = [...was].filter(([address, lead]) => is.get(address) !== lead).map(([address]) => address);
  const added = [...is.keys()].filter((address) => !was.has(address));
  const waysOut = [...hadOut].flatMap(([pod, address]) => (hasOut.get(pod) === address ? [] : [{ pod, address }]));
  return moved.length + added.length + waysOut.length === 0
    ? undefined
    : { family: table.family, moved, added, waysOut };
}

/** The pod that each address leads to, in whichever map. */
function leadsOf(table: Table | undefined): Map<string, string> {
  return new Map(["remote_dnat", "local_dnat"].flatMap((name) => [...elementsOf(table, name)]));
}

function elementsOf(table: Table | undefined, name: string): ReadonlyMap<string, string> {
  return table?.sets.find((set) => set.name === name)?.elements ?? new Map();
}
