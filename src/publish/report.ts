import { errorText } from "../errors.ts";
import type { Once } from "./run.ts";

/** Lines for a person about one look: what is (or was) written, what waits, what is wrong. */
export function reportText({ picture, applied }: Once): string {
  const { changes, pending, notes, states } = picture;
  const counts = `${states.current} in place, ${states.held} held, ${states.refused} refused, ${states.foreign} of others`;
  const verb = applied === undefined ? "would be written" : "to write";
  return [
    `rules: ${counts}`,
    ...(changes.length === 0 ? ["nothing is to be written"] : [`${verb}: ${changes.length}`, ...indent(changes)]),
    ...(pending.length === 0
      ? []
      : [`pending: ${pending.length}`, ...indent(pending.map(({ node, message }) => `${node.name}: ${message}`))]),
    ...notes.map(({ message }) => `warning: ${message}`),
    ...(applied === undefined
      ? []
      : [`written: ${applied.created} created, ${applied.updated} updated, ${applied.deleted} deleted`]),
    ...(applied?.failures ?? []).map((failure) => `failed: ${errorText(failure)}`),
  ].join("\n");
}

const indent = (lines: readonly string[]) => lines.map((line) => `  ${line}`);

/** 0 when all is as it should be, 1 when something is to be written, waits or is wrong. */
export function reportExitCode({ picture: { changes, pending, notes, states }, applied }: Once): 0 | 1 {
  const isWritten = applied === undefined ? changes.length === 0 : applied.failures.length === 0;
  return isWritten && pending.length === 0 && notes.length === 0 && states.refused === 0 ? 0 : 1;
}
