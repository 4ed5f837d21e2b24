import { type Family, parseAddress, parseCidr, type Range } from "./address.ts";
import type { Chain, NamedSet, Table } from "./table.ts";
import { rangeTexts } from "./whole-ip-table.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Reads what `nft -j list table` printed. What we never write is kept in a form that equals nothing of ours, so that it is taken for a change. */
export function readListing(output: string, family: Family, name: string): Table {
  const { nftables = [] } = JSON.parse(output) as { nftables?: readonly Fields[] };
  const all = (kind: string) => nftables.flatMap((each) => (each[kind] === undefined ? [] : [each[kind] as Fields]));
  const foreign = nftables.filter(
    (each) => !["metainfo", "table", "set", "map", "chain", "rule"].some((kind) => kind in each),
  );
  const rules = all("rule");
  const sets = nftables.flatMap((each) => {
    const set = each.set ?? each.map;
    return set === undefined ? [] : [set as Fields];
  });
  return {
    family,
    name,
    sets: [...sets.map((set) => readSet(set, family)), ...foreign.map((each) => unknownSet(JSON.stringify(each)))],
    chains: all("chain").map((chain) => readChain(chain, rules)),
  };
}

const unknownSet = (name: string): NamedSet => ({ name, key: [], elements: new Map() });

function readSet(set: Fields, family: Family): NamedSet {
  const { name, type, map, flags, elem = [] } = set;
  const isInterval = JSON.stringify(flags) === '["interval"]';
  const isKnown = flags === undefined || isInterval;
  const elements = elem as readonly unknown[];
  return {
    name: isKnown ? String(name) : JSON.stringify({ ...set, elem: [] }),
    key: Array.isArray(type) ? type.map(String) : [String(type)],
    ...(map === undefined ? {} : { value: String(map) }),
    ...(isInterval ? { isInterval: true } : {}),
    elements: isInterval ? readRanges(elements, family) : new Map(elements.map(readElement)),
  };
}

function readElement(element: unknown): [key: string, value: string] {
  if (Array.isArray(element) && element.length === 2) {
    return [textOf(element[0]), textOf(element[1])];
  }
  return [textOf(element), ""];
}

/** The texts of `NamedSet`: addresses in their one form. */
function textOf(part: unknown): string {
  if (typeof part === "string") {
    return parseAddress(part)?.text ?? part;
  }
  if (typeof part === "number") {
    return String(part);
  }
  const { concat } = (part ?? {}) as { concat?: unknown };
  return Array.isArray(concat) ? concat.map(textOf).join(" ") : JSON.stringify(part);
}

function readRanges(elements: readonly unknown[], family: Family): ReadonlyMap<string, string> {
  const ranges: Range[] = [];
  const others: string[] = [];
  for (const element of elements) {
    const range = readRange(element);
    if (range === undefined) others.push(JSON.stringify(element));
    else ranges.push(range);
  }
  return new Map([...rangeTexts(ranges, family), ...others].map((text) => [text, ""]));
}

function readRange(element: unknown): Range | undefined {
  if (typeof element === "string") {
    return parseCidr(element);
  }
  const { prefix, range } = (element ?? {}) as { prefix?: { addr?: string; len?: number }; range?: [string, string] };
  if (prefix !== undefined) {
    return parseCidr(`${prefix.addr}/${prefix.len}`);
  }
  const [first, last] = [parseAddress(range?.[0] ?? ""), parseAddress(range?.[1] ?? "")];
  return first === undefined || last === undefined
    ? undefined
    : { family: first.family, first: first.value, last: last.value };
}

function readChain(chain: Fields, rules: readonly Fields[]): Chain {
  const { name, type, hook, prio, policy } = chain;
  const own = rules.filter((rule) => rule.chain === name);
  return {
    name: policy === "accept" ? String(name) : `${String(name)} ${String(policy)}`,
    type: type as Chain["type"],
    hook: String(hook),
    priority: Number(prio),
    rules: own.map(({ expr }) => expr as readonly unknown[]),
  };
}
