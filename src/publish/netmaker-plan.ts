import type { Pending } from "./kube-node.ts";
import type { Member } from "./netmaker-hosts.ts";
import {
  type Identity,
  identityKey,
  kaputNotIdentity,
  type NewRule,
  ownIdentity,
  type Rule,
  wantedRules,
} from "./netmaker-rules.ts";
import { samePrefix } from "./prefix.ts";

export interface PlanInput {
  cluster: string;
  members: readonly Member[];
  pending: readonly Pending[];
  /** Names of Nodes that have been pending for so long that their rules go. */
  expired: ReadonlySet<string>;
  /** All rules of the networks that were read. */
  rules: readonly Rule[];
  /** Nothing is taken away: a list that came back empty is no proof that there is nothing. */
  keepAll: boolean;
  /** Take away however much it is. */
  force: boolean;
  adoptKaputNot: boolean;
}

export interface Plan {
  create: NewRule[];
  /** `rule` is what it is to become. */
  update: { rule: Rule; before: Rule }[];
  delete: Rule[];
  /** Would be deleted, but are too many at once. */
  refused: Rule[];
  /** Kept for Nodes that are pending, or because of `keepAll`. */
  held: Rule[];
  /** Rules that are as they should be. */
  current: number;
  /** Rules of others. */
  foreign: number;
}

/** Deletions that one pass makes whatever share of the rules they are. */
const alwaysAllowed = 5;

/** Compares what should be with what is. A rule without an identity of ours is in no answer but the count of foreign ones. */
export function planRules(input: PlanInput): Plan {
  const { cluster, rules } = input;
  const wanted = wantedRules(cluster, input.members);
  const kept = keptNodes(input);
  const identify = identifier(input);
  const own = new Map<string, { identity: Identity; rules: Rule[] }>();
  let foreign = 0;
  for (const rule of rules) {
    const identity = identify(rule);
    if (identity === undefined) {
      foreign += 1;
      continue;
    }
    const key = identityKey(rule.network, identity);
    const entry = own.get(key);
    if (entry === undefined) {
      own.set(key, { identity, rules: [rule] });
    } else {
      entry.rules.push(rule);
    }
  }
  const plan: Plan = { create: [], update: [], delete: [], refused: [], held: [], current: 0, foreign };
  const unwanted: Rule[] = [];
  for (const [key, { identity, rules: same }] of own) {
    const [first, ...duplicates] = same.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const rule = wanted.get(key);
    wanted.delete(key);
    if (first === undefined) {
      continue;
    }
    // Nothing is lost with them: one of the same identity stays, or is judged below.
    plan.delete.push(...duplicates);
    if (rule !== undefined) {
      judge(plan, first, rule);
    } else if (input.keepAll || kept.has(identity.node)) {
      plan.held.push(first);
    } else {
      unwanted.push(first);
    }
  }
  plan.create.push(...wanted.values());
  const allowed = input.force ? Number.POSITIVE_INFINITY : Math.max(alwaysAllowed, own.size / 2);
  (unwanted.length > allowed ? plan.refused : plan.delete).push(...unwanted);
  return plan;
}

function judge(plan: Plan, before: Rule, wanted: NewRule): void {
  if (isAsWanted(before, wanted)) {
    plan.current += 1;
  } else {
    plan.update.push({ rule: { ...wanted, id: before.id }, before });
  }
}

/** Nodes whose rules stay though none is wanted. */
function keptNodes({ pending, expired }: PlanInput): Set<string> {
  return new Set(pending.map(({ node }) => node.name).filter((name) => !expired.has(name)));
}

function identifier({ cluster, members, adoptKaputNot }: PlanInput): (rule: Rule) => Identity | undefined {
  const nodeOf = new Map(
    members.flatMap(({ node, meshNodes }) => [...meshNodes.values()].map((id) => [id, node.name] as const)),
  );
  return ({ description, nodes }) => {
    const own = ownIdentity(cluster, description);
    const kaputNot = own === undefined && adoptKaputNot ? kaputNotIdentity(description) : undefined;
    if (kaputNot === undefined || (kaputNot.cluster !== undefined && kaputNot.cluster !== cluster)) {
      return own;
    }
    // Which Node it is about stands only in the ids: one that is nobody's here may be another cluster's, so it is left alone.
    const names = Object.keys(nodes).map((id) => nodeOf.get(id));
    const [node] = names;
    return names.length === 1 && node !== undefined ? { node, index: kaputNot.index } : undefined;
  };
}

function isAsWanted(rule: Rule, wanted: NewRule): boolean {
  return (
    samePrefix(rule.range, wanted.range) &&
    rule.name === wanted.name &&
    rule.description === wanted.description &&
    rule.nat === wanted.nat &&
    rule.status === wanted.status &&
    Bun.deepEquals(rule.nodes, wanted.nodes, true)
  );
}
