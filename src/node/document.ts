import type { NamedSet, Table } from "./table.ts";

/** One command of nftables' JSON; a list of them is one transaction. */
export type Command = Readonly<Record<string, unknown>>;

/** What turns the table that is there into the wanted one; `[]` when they are equal. Only elements are changed where that is enough. */
export function changeOf(there: Table | undefined, wanted: Table | undefined): Command[] {
  if (wanted === undefined) {
    return there === undefined ? [] : [{ delete: { table: tableName(there) } }];
  }
  return there !== undefined && sameShape(there, wanted) ? elementChanges(there, wanted) : replacement(wanted);
}

/** The whole table anew, whatever is there: `destroy` is unknown to nft 1.0.6, and what was just added can be deleted. */
export function replacement(wanted: Table): Command[] {
  const name = tableName(wanted);
  const inTable = { family: wanted.family, table: wanted.name };
  return [
    { add: { table: name } },
    { delete: { table: name } },
    { add: { table: name } },
    ...wanted.sets.map((set) => ({ add: { [kindOf(set)]: { ...inTable, ...describeSet(set) } } })),
    ...wanted.sets.flatMap((set) => elementCommand("add", inTable, set, set.elements)),
    ...wanted.chains.map(({ name: chain, type, hook, priority }) => ({
      add: { chain: { ...inTable, name: chain, type, hook, prio: priority, policy: "accept" } },
    })),
    ...wanted.chains.flatMap(({ name: chain, rules }) =>
      rules.map((expr) => ({ add: { rule: { ...inTable, chain, expr } } })),
    ),
  ];
}

const tableName = ({ family, name }: Table) => ({ family, name });
const kindOf = ({ value }: NamedSet) => (value === undefined ? "set" : "map");

function describeSet({ name, key, value, isInterval }: NamedSet) {
  return {
    name,
    type: key.length === 1 ? key[0] : key,
    ...(value === undefined ? {} : { map: value }),
    ...(isInterval === true ? { flags: ["interval"] } : {}),
  };
}

/** All but the elements that can be changed one by one. */
function sameShape(one: Table, other: Table): boolean {
  const shape = ({ sets, chains }: Table) =>
    canonical({ chains, sets: sets.map((set) => ({ ...describeSet(set), ranges: rangesOf(set) })) });
  return shape(one) === shape(other);
}

const rangesOf = ({ isInterval, elements }: NamedSet) => (isInterval === true ? [...elements.keys()].sort() : []);

/** JSON with sorted keys: nft prints them in an order of its own. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([left], [right]) => (left < right ? -1 : 1)))
      : inner,
  );
}

/** Deletions first: a key whose value changes is deleted and added again, as an element that is there with another value cannot be added. */
function elementChanges(there: Table, wanted: Table): Command[] {
  const inTable = { family: wanted.family, table: wanted.name };
  const [deleted, added]: [Command[], Command[]] = [[], []];
  for (const [index, set] of wanted.sets.entries()) {
    const before = there.sets[index]?.elements ?? new Map<string, string>();
    deleted.push(...elementCommand("delete", inTable, set, missing(before, set.elements)));
    added.push(...elementCommand("add", inTable, set, missing(set.elements, before)));
  }
  return [...deleted, ...added];
}

/** What of `some` the others do not have, or with another value. */
function missing(some: ReadonlyMap<string, string>, others: ReadonlyMap<string, string>): Map<string, string> {
  return new Map([...some].filter(([key, value]) => others.get(key) !== value));
}

function elementCommand(
  verb: "add" | "delete",
  inTable: { family: string; table: string },
  set: NamedSet,
  elements: ReadonlyMap<string, string>,
): Command[] {
  const elem = [...elements].map(([key, value]) => elementOf(set, key, value));
  return elem.length === 0 ? [] : [{ [verb]: { element: { ...inTable, name: set.name, elem } } }];
}

function elementOf({ key: types, value: valueType, isInterval }: NamedSet, key: string, value: string): unknown {
  if (isInterval === true) {
    const [first, last] = key.split("-");
    return first === last ? first : { range: [first, last] };
  }
  if (types.length > 1) {
    return { concat: key.split(" ").map((part, at) => (types[at] === "inet_service" ? Number(part) : part)) };
  }
  return valueType === undefined ? key : [key, value];
}
