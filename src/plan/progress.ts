import type { ConditionType, Verdict } from "./conditions.ts";
import { type ReasonText, reasons } from "./reasons.ts";

/**
 * The verdicts, and what tools read that wait for objects of any kind (kstatus: Flux, `kpt`, Helm): `Stalled` when something has to be changed by somebody,
 * else `Reconciling` while something is still to come. Neither when the object is as it was asked for.
 */
export function withProgress(
  verdicts: readonly (readonly [ConditionType, Verdict])[],
): (readonly [ConditionType, Verdict])[] {
  const open = verdicts.flatMap(([type, verdict]) => (isOpen(type, verdict) ? [verdict] : []));
  const stalled = open.find(isStalled);
  const [first] = open;
  if (stalled !== undefined) return [...verdicts, ["Stalled", { ...stalled, status: "True" }]];
  return first === undefined ? [...verdicts] : [...verdicts, ["Reconciling", { ...first, status: "True" }]];
}

/** A Proxy without a session is what was asked for: its Target may be made later, by others. */
function isOpen(type: ConditionType, { status, reason }: Verdict): boolean {
  return status === "False" && (type === "Ready" || type === "Updated") && reason !== "ScaledToZero";
}

function isStalled({ status, reason, isStalled: given }: Verdict): boolean {
  const text: ReasonText = reasons[reason];
  return status === "False" && (given ?? text.isStalled === true);
}
