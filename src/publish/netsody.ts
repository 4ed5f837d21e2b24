import { readFileSync, statSync } from "node:fs";
import { type EntryTable, readNetwork } from "./netsody-network.ts";
import type { NetsodyOutput } from "./netsody-output.ts";
import {
  type Entry,
  matchNodes,
  type NetsodyPlan,
  planEntries,
  publishedEntries,
  writeNetwork,
} from "./netsody-plan.ts";
import { createPendingClock } from "./pending-clock.ts";
import { contains, type Prefix, parsePrefix } from "./prefix.ts";
import { InvalidError, MeshError, type Note, type Picture, type Provider, type View } from "./provider.ts";

export interface NetsodySettings {
  /** File with the network as a person keeps it; read at each look. */
  baseFile: string;
  table: EntryTable;
  groups: readonly string[];
  force: boolean;
}

/** What an object of the API server can hold, with a little left for the rest of it. */
const maxBytes = 1_000_000;

/** `now`: milliseconds on a clock that never goes back. */
export function createNetsody(
  output: NetsodyOutput,
  settings: NetsodySettings,
  now: () => number = () => performance.now(),
): Provider {
  const pendingSince = createPendingClock(now);
  return {
    async look({ nodes }: View): Promise<Picture> {
      const base = readBase(settings.baseFile);
      const read = readNetwork(base);
      if ("problem" in read) {
        throw new InvalidError(`${settings.baseFile} cannot be published: ${read.problem}`, 0);
      }
      const { network } = read;
      const before = output.current();
      if (before === undefined) {
        throw new MeshError(`${output.name} is not there: create it, empty`, 404);
      }
      const matched = matchNodes(nodes, network);
      const expired = pendingSince(matched.pending);
      const published = publishedEntries(before.text);
      const plan = planEntries({ network, nodes, published, expired, force: settings.force }, matched);
      const text = writeNetwork(base, plan.entries, settings);
      judge(text);
      return {
        changes: text === before.text ? [] : describePlan(plan),
        pending: matched.pending,
        notes: notesOf(plan, nodes.length, network.prefix),
        states: {
          current:
            plan.entries.length - plan.held.length - plan.refused.length - plan.created.length - plan.updated.length,
          held: plan.held.length,
          refused: plan.refused.length,
          foreign: 0,
        },
        leaked: 0,
        async apply(signal) {
          const done = { created: 0, updated: 0, deleted: 0, failures: [] };
          if (text === before.text) return done;
          await output.write(text, before.version, signal);
          const { created, updated, deleted } = plan;
          return { ...done, created: created.length, updated: Math.max(1, updated.length), deleted: deleted.length };
        },
      };
    },
  };
}

function readBase(path: string): string {
  try {
    if (statSync(path).size > maxBytes) {
      throw new Error(`larger than ${maxBytes} bytes`);
    }
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new InvalidError(`${path} cannot be read`, 0, { cause });
  }
}

/** What agents would refuse is never published. */
function judge(text: string): void {
  const read = readNetwork(text);
  if ("problem" in read) {
    throw new InvalidError(`with the pod CIDRs the network would be invalid: ${read.problem}`, 0);
  }
  if (Buffer.byteLength(text) > maxBytes) {
    throw new InvalidError(
      `the network would be larger than ${maxBytes} bytes, which no Secret or ConfigMap can hold`,
      0,
    );
  }
}

function describePlan({ created, updated, deleted }: NetsodyPlan): string[] {
  const line = (verb: string) => (entry: Entry) =>
    `${verb} ${entry.dest} of ${entry.node} (gw ${entry.gw.slice(0, 8)}…)`;
  const lines = [...created.map(line("create")), ...updated.map(line("update")), ...deleted.map(line("delete"))];
  return lines.length === 0 ? ["update the file: the base has changed, or the published one was edited"] : lines;
}

function notesOf({ refused, leftOut, entries }: NetsodyPlan, nodes: number, network: Prefix): Note[] {
  const overlapping = entries.find(({ dest }) => {
    const prefix = parsePrefix(dest);
    return prefix !== undefined && (contains(network, prefix) || contains(prefix, network));
  });
  const [first] = leftOut;
  return [
    ...(nodes === 0
      ? [
          {
            reason: "EmptyList",
            message: "the list of Nodes of the cluster came back empty: nothing is deleted because of that",
          },
        ]
      : []),
    ...(refused.length === 0
      ? []
      : [
          {
            reason: "DeletionsRefused",
            message: `${refused.length} entries, more than half of all, would be deleted at once: nothing is deleted. When that is meant, run \`netaminity publish --once --force\``,
          },
        ]),
    ...(first === undefined
      ? []
      : [
          {
            reason: "Ipv6LeftOut",
            message: `Netsody carries IPv4 alone: ${leftOut.length} IPv6 pod CIDRs are left out, ${first.cidr} of ${first.node} among them`,
          },
        ]),
    ...(overlapping === undefined
      ? []
      : [
          {
            reason: "OverlappingCidr",
            message: `the pod CIDR ${overlapping.dest} of ${overlapping.node} overlaps the network itself`,
          },
        ]),
  ];
}
