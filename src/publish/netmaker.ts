import type { NetmakerApi } from "./netmaker-api.ts";
import { leakedEndpoints, type MeshNode, matchHosts } from "./netmaker-hosts.ts";
import { type Plan, planRules } from "./netmaker-plan.ts";
import { type NewRule, ownIdentity, type Rule } from "./netmaker-rules.ts";
import { createPendingClock } from "./pending-clock.ts";
import { parsePrefix, prefixKey } from "./prefix.ts";
import { type Applied, MeshError, type Note, type Picture, type Provider, type View } from "./provider.ts";

export interface NetmakerSettings {
  /** Name of this cluster, [a-z0-9-]{1,40}; asked for at each look. */
  cluster: (signal: AbortSignal) => Promise<string>;
  force: boolean;
  adoptKaputNot: boolean;
}

/** Milliseconds between looks at networks in which there was nothing of ours: a host may have left one while nobody looked. */
const sweepInterval = 10 * 60_000;
/** Writes at once. */
const writers = 4;
/** Writes that fail one after the other before a pass is given up: the server is at fault then, not a rule. */
const maxFailuresInARow = 8;

/** `now`: milliseconds on a clock that never goes back. */
export function createNetmaker(
  api: NetmakerApi,
  settings: NetmakerSettings,
  now: () => number = () => performance.now(),
): Provider {
  const pendingSince = createPendingClock(now);
  const networks = createNetworks(api, now);
  return {
    async look({ nodes, signal }: View): Promise<Picture> {
      const cluster = await settings.cluster(signal);
      const hosts = await api.hosts(signal);
      const meshNodes = await api.nodes(signal);
      const { members, pending } = matchHosts(nodes, hosts, meshNodes);
      const touched = new Set(members.flatMap((member) => [...member.meshNodes.keys()]));
      const { rules, notes } = await networks.read(cluster, touched, meshNodes, signal);
      const keepAll = nodes.length === 0 || hosts.length === 0 || meshNodes.length === 0;
      const plan = planRules({
        ...settings,
        cluster,
        members,
        pending,
        expired: pendingSince(pending),
        rules,
        keepAll,
      });
      const leaks = leakedEndpoints(nodes, hosts);
      return {
        changes: describePlan(plan),
        pending,
        notes: [...notes, ...emptyNotes(nodes, hosts, meshNodes), ...refusalNotes(plan), ...leakNotes(leaks)],
        states: {
          current: plan.current,
          held: plan.held.length,
          refused: plan.refused.length,
          foreign: plan.foreign,
        },
        leaked: leaks.length,
        apply: (term) => applyPlan(api, plan, term),
      };
    },
  };
}

/** Reads the rules of the networks in which something of ours is wanted, was seen lately, or may have been left long ago. */
function createNetworks(api: NetmakerApi, now: () => number) {
  let known = new Set<string>();
  let swept = Number.NEGATIVE_INFINITY;
  return {
    async read(cluster: string, touched: ReadonlySet<string>, meshNodes: readonly MeshNode[], signal: AbortSignal) {
      const isSweep = now() - swept >= sweepInterval;
      const others = isSweep ? meshNodes.map(({ network }) => network) : [];
      const rules: Rule[] = [];
      const notes: Note[] = [];
      for (const network of [...new Set([...touched, ...known, ...others])].sort()) {
        try {
          rules.push(...(await api.rules(network, signal)));
        } catch (error) {
          // A network in which nothing is wanted may be gone, or none of our business.
          if (touched.has(network) || !(error instanceof MeshError) || error.code < 400 || error.code >= 500) {
            throw error;
          }
          notes.push({
            reason: "NetworkUnreadable",
            message: `rules of ${network} are left as they are: ${error.message}`,
          });
        }
      }
      swept = isSweep ? now() : swept;
      const holding = rules.filter((rule) => ownIdentity(cluster, rule.description) !== undefined);
      known = new Set([...touched, ...holding.map(({ network }) => network)]);
      return { rules, notes };
    },
  };
}

function emptyNotes(nodes: readonly unknown[], hosts: readonly unknown[], meshNodes: readonly unknown[]): Note[] {
  const empty = [
    ...(nodes.length === 0 ? ["Nodes of the cluster"] : []),
    ...(hosts.length === 0 ? ["hosts of the mesh"] : []),
    ...(hosts.length > 0 && meshNodes.length === 0 ? ["nodes of the mesh"] : []),
  ];
  return empty.map((what) => ({
    reason: "EmptyList",
    message: `the list of ${what} came back empty: nothing is deleted because of that`,
  }));
}

function refusalNotes({ refused }: Plan): Note[] {
  const [first] = refused;
  return first === undefined
    ? []
    : [
        {
          reason: "DeletionsRefused",
          message: `${refused.length} rules, more than half of all, would be deleted at once (${first.range} in ${first.network} among them): nothing is deleted. When that is meant, run \`netaminity publish --once --force\``,
        },
      ];
}

function leakNotes(leaks: ReturnType<typeof leakedEndpoints>): Note[] {
  return leaks.map(({ host, cidr }) => ({
    reason: "EndpointInPodCidr",
    message: `the host ${host.name} of the mesh has the endpoint ${host.endpoint}, which is inside the pod CIDR ${cidr}: its peers may not reach it until it publishes another one`,
  }));
}

function describePlan(plan: Plan): string[] {
  const line = (verb: string, { network, name, range }: NewRule, more = "") =>
    `${verb} ${range} in ${network}: ${name}${more}`;
  return [
    ...plan.create.map((rule) => line("create", rule)),
    ...plan.update.map(({ rule, before }) => line("update", rule, ` (${differences(before, rule)})`)),
    ...plan.delete.map((rule) => line("delete", rule, ` (id ${rule.id})`)),
  ];
}

function differences(before: Rule, after: Rule): string {
  const fields = ["range", "name", "description", "nat", "status", "nodes"] as const;
  return fields
    .filter((field) => !Bun.deepEquals(before[field], after[field]))
    .map((field) => `${field} was ${JSON.stringify(before[field])}`)
    .join(", ");
}

/** New rules first and deletions last, so that no address is without a rule in between. */
async function applyPlan(api: NetmakerApi, plan: Plan, signal: AbortSignal): Promise<Applied> {
  const done = { created: 0, updated: 0, deleted: 0 };
  const failures: MeshError[] = [];
  /** What should have a rule by now and may have none. */
  const missing = new Set<string>();
  let inARow = 0;
  const all = async <T extends NewRule>(
    rules: readonly T[],
    verb: keyof typeof done,
    write: (rule: T, signal: AbortSignal) => Promise<void>,
  ) => {
    const waiting = rules.values();
    const work = async () => {
      for (const rule of waiting) {
        if (inARow >= maxFailuresInARow) return;
        try {
          await write(rule, signal);
          done[verb] += 1;
          inARow = 0;
        } catch (error) {
          if (!(error instanceof MeshError)) throw error;
          failures.push(error);
          missing.add(placeOf(rule));
          inARow += 1;
        }
      }
    };
    await Promise.all(Array.from({ length: writers }, work));
  };
  await all(plan.create, "created", api.create);
  await all(
    plan.update.map(({ rule }) => rule),
    "updated",
    api.update,
  );
  await all(
    plan.delete.filter((rule) => !missing.has(placeOf(rule))),
    "deleted",
    api.remove,
  );
  return { ...done, failures };
}

function placeOf({ network, range }: NewRule): string {
  const prefix = parsePrefix(range);
  return `${network}\n${prefix === undefined ? range : prefixKey(prefix)}`;
}
