import type { Condition } from "../api/conditions.ts";
import type { EventNote } from "./plan.ts";
import { isProblem, type Reason } from "./reasons.ts";

/** What a check found about one aspect. */
export interface Verdict {
  status: "True" | "False";
  reason: Reason;
  message: string;
  /** It holds thanks to pods of an earlier generation of the spec: those of the present one do not serve yet. */
  isOfEarlier?: boolean;
  /** Waiting does not help; absent: as its reason says. */
  isStalled?: boolean;
}

/** `Reconciling` and `Stalled` are there only while they are True, as the convention of kstatus has it. */
export type ConditionType = "Ready" | "Available" | "Connected" | "Updated" | "Reconciling" | "Stalled";

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

/** `verdict`, which is about the present generation only when `isPresent`. */
export function ofGeneration(verdict: Verdict, isPresent: boolean): Verdict {
  return verdict.status === "True" && !isPresent ? { ...verdict, isOfEarlier: true } : verdict;
}

/**
 * The conditions to write. `lastTransitionTime` changes only with the status, so that a pass that finds what the one before found
 * writes nothing. A condition that holds thanks to pods of an earlier generation keeps the `observedGeneration` of those.
 */
export function nextConditions(
  previous: readonly Condition[] | undefined,
  verdicts: readonly (readonly [ConditionType, Verdict])[],
  at: { now: string; generation: number },
): Condition[] {
  return verdicts.map(([type, { status, reason, message, isOfEarlier }]) => {
    const before = previous?.find((condition) => condition.type === type);
    const earlier = before?.status === "True" ? before.observedGeneration : at.generation - 1;
    return {
      type,
      status,
      reason,
      message: shortened(message),
      lastTransitionTime: before !== undefined && before.status === status ? before.lastTransitionTime : at.now,
      observedGeneration: isOfEarlier === true ? Math.min(Math.max(earlier, 0), at.generation) : at.generation,
    };
  });
}

const newsworthy: readonly string[] = ["Ready", "Available", "Connected"] satisfies ConditionType[];

/**
 * Events for what changed between two statuses: Ready, Available and Connected turning, and a new problem that keeps Ready false.
 * That an object is not ready yet when it is first seen is no news, nor that a Tunnel turns available when it also turns ready.
 */
export function transitionEvents(previous: readonly Condition[] | undefined, next: readonly Condition[]): EventNote[] {
  const seen = (type: string) => previous?.find((each) => each.type === type && each.status !== "Unknown");
  const turned = ({ type, status }: Condition) => {
    const before = seen(type);
    return before === undefined ? status === "True" : before.status !== status;
  };
  const turnsReady = next.some((condition) => condition.type === "Ready" && turned(condition));
  return next.flatMap((condition) => {
    const { type, status, reason, message } = condition;
    if (!newsworthy.includes(type) || (type === "Available" && turnsReady)) return [];
    const before = seen(type);
    const isNewProblem = type === "Ready" && isProblem(reason as Reason) && before?.reason !== reason;
    if (!turned(condition) && !isNewProblem) return [];
    const isGood = status === "True" || reason === ("ScaledToZero" satisfies Reason);
    return [{ type: isGood ? "Normal" : "Warning", reason, message } satisfies EventNote];
  });
}

function shortened(message: string): string {
  return message.length <= longestMessage ? message : `${message.slice(0, longestMessage - 3)}...`;
}
