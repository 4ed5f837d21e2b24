import { type Family, makeAddress, mergeRanges, type Range } from "./address.ts";
import { wholeIpTable } from "./names.ts";
import type { Mapping, NodePlan } from "./plan.ts";
import { addressType, type Chain, expressions, members, type NamedSet, type Table } from "./table.ts";

/**
 * The table of whole-IP Services in one family; undefined when there are none. It uses conntrack's NAT, so that only a connection's first packet asks
 * the maps, and a connection outlives a replacement of the table.
 */
export function wholeIpTableOf({ mappings, surroundings }: NodePlan, family: Family): Table | undefined {
  const own = mappings.filter(({ address }) => address.family === family);
  return own.length === 0
    ? undefined
    : { family, name: wholeIpTable, sets: setsOf(own, surroundings.internal, family), chains: chainsOf(family) };
}

/** All are keyed by the load balancer's address, never by a pod's: another pod can get that next. */
function setsOf(mappings: readonly Mapping[], internal: readonly Range[], family: Family): NamedSet[] {
  const [local, remote] = [mappings.filter((each) => each.isLocal), mappings.filter((each) => !each.isLocal)];
  const overThisNode = remote.filter(({ isOverAnyNode }) => isOverAnyNode);
  const waysOut = local.filter(({ isWayOut }) => isWayOut);
  const filtered = mappings.filter(({ mode }) => mode.ports === "ports");
  const address = addressType[family];
  const toEndpoint = (some: readonly Mapping[]) => new Map(some.map((each) => [each.address.text, each.endpoint.text]));
  const addresses = (some: readonly Mapping[]) => members(some.map((each) => each.address.text));
  const allowed = filtered.flatMap((each) =>
    each.ports.map(({ protocol, port }) => `${each.address.text} ${protocol} ${port}`),
  );
  return [
    { name: "local_dnat", key: [address], value: address, elements: toEndpoint(local) },
    {
      name: "local_snat",
      key: [address],
      value: address,
      elements: new Map(waysOut.map((each) => [each.endpoint.text, each.address.text])),
    },
    { name: "remote_dnat", key: [address], value: address, elements: toEndpoint(remote) },
    { name: "cluster_dnat", key: [address], value: address, elements: toEndpoint(overThisNode) },
    { name: "cluster_lbs", key: [address], elements: addresses(overThisNode) },
    { name: "internal", key: [address], isInterval: true, elements: members(rangeTexts(internal, family)) },
    { name: "filtered", key: [address], elements: addresses(filtered) },
    { name: "allowed", key: [address, "inet_proto", "inet_service"], elements: members(allowed) },
    { name: "icmp_ok", key: [address], elements: addresses(filtered.filter(({ mode }) => mode.icmp)) },
    {
      name: "hairpin",
      key: [address, address],
      elements: members(waysOut.map(({ endpoint }) => `${endpoint.text} ${endpoint.text}`)),
    },
  ];
}

/** As `NamedSet` writes intervals. */
export function rangeTexts(ranges: readonly Range[], family: Family): string[] {
  return mergeRanges(ranges, family).map(
    ({ first, last }) => `${makeAddress(family, first).text}-${makeAddress(family, last).text}`,
  );
}

function chainsOf(family: Family): Chain[] {
  const is = expressions(family);
  const filter = [
    // ICMP errors belong to a connection, and so do the answers to what the pod began itself.
    [is.isKnown, is.accept],
    [is.isIcmp, is.originalIn("icmp_ok"), is.accept],
    [is.originalPortIn("allowed"), is.accept],
    // By itself, so that what has no port is dropped too.
    [is.originalIn("filtered"), is.drop],
  ];
  return [
    {
      name: "prerouting",
      type: "nat",
      hook: "prerouting",
      // Before kube-proxy's -100.
      priority: -105,
      rules: [
        [is.dnatBy("local_dnat")],
        [is.sourceIn("internal"), is.dnatBy("remote_dnat")],
        [is.dnatBy("cluster_dnat")],
      ],
    },
    {
      name: "output",
      type: "nat",
      hook: "output",
      priority: -105,
      rules: [[is.dnatBy("local_dnat")], [is.dnatBy("remote_dnat")]],
    },
    {
      name: "postrouting",
      type: "nat",
      hook: "postrouting",
      // Before the masquerading of kube-proxy and the network plugins, at 100.
      priority: 95,
      rules: [
        [is.pairIn("hairpin"), is.snatBy("local_snat")],
        [is.sourceNotIn("internal"), is.originalIn("cluster_lbs"), is.masquerade],
        // Inside the cluster the pod's own address stays visible.
        [is.destinationNotIn("internal"), is.snatBy("local_snat")],
      ],
    },
    { name: "forward", type: "filter", hook: "forward", priority: -5, rules: filter },
    { name: "filter_output", type: "filter", hook: "output", priority: -5, rules: filter },
  ];
}
