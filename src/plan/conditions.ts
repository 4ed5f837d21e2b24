import type { Condition } from "../api/conditions.ts";
import type { EventNote } from "./plan.ts";
import { isProblem, type Reason } from "./reasons.ts";

/** What a check found about one aspect. */
export interface Verdict {
  status: "True" | "False";
  reason: Reason;
  message: string;
}

export type ConditionType = "Ready" | "Connected" | "Updated";

/** Messages may quote containers and the API server; this keeps a status small. */
const longestMessage = 1024;

export const good = (reason: Reason, message: string): Verdict => ({ status: "True", reason, message });
export const bad = (reason: Reason, message: string): Verdict => ({ status: "False", reason, message });

export function isTrue(conditions: readonly Condition[] | undefined, type: ConditionType): boolean {
  return conditions?.some((condition) => condition.type === type && condition.status === "True") === true;
}

/** The first objection of an ordered list of checks, else the verdict that all is well. */
export function firstObjection(checks: readonly (Verdict | undefined)[], otherwise: Verdict): Verdict {
  return checks.find((verdict) => verdict !== undefined) ?? otherwise;
}

/**
 * The conditions to write. `lastTransitionTime` changes only with the status, so that a pass that finds what the one before found
 * writes nothing.
 */
export function nextConditions(
  previous: readonly Condition[] | undefined,
  verdicts: readonly (readonly [ConditionType, Verdict])[],
  at: { now: string; generation: number },
): Condition[] {
  return verdicts.map(([type, { status, reason, message }]) => {
    const before = previous?.find((condition) => condition.type === type);
    return {
      type,
      status,
      reason,
      message: shortened(message),
      lastTransitionTime: before !== undefined && before.status === status ? before.lastTransitionTime : at.now,
      observedGeneration: at.generation,
    };
  });
}

/**
 * Events for what changed between two statuses: Ready and Connected turning, and a new problem that keeps Ready false.
 * That an object is not ready yet when it is first seen is no news.
 */
export function transitionEvents(previous: readonly Condition[] | undefined, next: readonly Condition[]): EventNote[] {
  return next.flatMap((condition) => {
    const { type, status, reason, message } = condition;
    if (type === "Updated") return [];
    const before = previous?.find((each) => each.type === type);
    const turned = before === undefined ? status === "True" : before.status !== status;
    const isNewProblem = type === "Ready" && isProblem(reason as Reason) && before?.reason !== reason;
    if (!turned && !isNewProblem) return [];
    const isGood = status === "True" || reason === ("ScaledToZero" satisfies Reason);
    return [{ type: isGood ? "Normal" : "Warning", reason, message } satisfies EventNote];
  });
}

function shortened(message: string): string {
  return message.length <= longestMessage ? message : `${message.slice(0, longestMessage - 3)}...`;
}
