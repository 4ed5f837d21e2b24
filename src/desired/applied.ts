import { apiGroup } from "../names.ts";
import type { DesiredObject } from "./desired.ts";

/**
 * Annotation on every child with a hash of what was applied. Comparing owned fields alone would miss one that is no longer wanted
 * but still there; the hash changes with it. It also tells a restarted operator that nothing has to be written, and a planner
 * whether an observed child is already the one that it wants.
 */
const appliedAnnotation = `${apiGroup}/applied`;

/** The object to apply: the desired one with its own hash. */
export function withHash(desired: DesiredObject): DesiredObject {
  const annotations = { ...desired.metadata.annotations, [appliedAnnotation]: hashOf(desired) };
  return { ...desired, metadata: { ...desired.metadata, annotations } };
}

/** Whether the observed object was made from exactly this wish. */
export function isApplied(
  desired: DesiredObject,
  observed: { metadata: { annotations?: Record<string, string> } } | undefined,
): boolean {
  return observed?.metadata.annotations?.[appliedAnnotation] === hashOf(desired);
}

/** A short text that is the same for the same content, whatever the order of its keys. */
export function hashOf(value: unknown): string {
  return Bun.hash(canonical(value)).toString(36);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
