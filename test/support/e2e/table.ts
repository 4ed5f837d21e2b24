/** What was measured, as a table at the end of the run. */
import { countsByResult, type Impact } from "./impact.ts";

export interface Row {
  readonly scenario: string;
  readonly impact: Impact;
  /** Milliseconds within which new connections shall succeed again. */
  readonly goal: number;
}

const heads = [
  "scenario",
  "new connections work again after",
  "failed new",
  "broken established",
  "longest gap",
  "goal",
];

/** Columns aligned with spaces. */
export function formatTable(rows: readonly Row[]): string {
  const lines = [heads, ...rows.map(cells)];
  const widths = heads.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  const format = (line: readonly string[]): string =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return [format(heads), widths.map((width) => "-".repeat(width)).join("  "), ...lines.slice(1).map(format)].join("\n");
}

/** One row alone, as a line of a log. */
export function formatRow(row: Row): string {
  return cells(row)
    .map((cell, column) => (column === 0 ? cell : `${heads[column]} ${cell}`))
    .join("; ");
}

function cells({ scenario, impact, goal }: Row): string[] {
  const { recovered, attempts, failed, broken, longestGap } = impact;
  // Where nothing may fail, a machine that was slow for a moment is no failure.
  const isMet = goal === 0 ? failed.length + broken.length === 0 : recovered <= goal;
  return [
    scenario,
    seconds(goal === 0 && failed.length === 0 ? 0 : recovered),
    `${failed.length} of ${attempts}${failed.length > 0 ? ` (${countsByResult(failed)})` : ""}`,
    broken.length === 0 ? "0" : `${broken.length} (${countsByResult(broken)})`,
    seconds(longestGap),
    `${seconds(goal)}: ${isMet ? "met" : "MISSED"}`,
  ];
}

const seconds = (milliseconds: number): string => (milliseconds === 0 ? "0" : `${(milliseconds / 1000).toFixed(1)} s`);
