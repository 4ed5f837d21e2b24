import type { Check, Diagnosis, Outcome, Verdict } from "./check.ts";

const marks: Readonly<Record<Outcome, string>> = { ok: "ok", broken: "BROKEN", unknown: "?", skipped: "-" };
const outcomeColors: Readonly<Record<Outcome, string>> = { ok: "32", broken: "31", unknown: "33", skipped: "90" };
const verdictColors: Readonly<Record<Verdict, string>> = { healthy: "32", broken: "1;31", unknown: "33" };

/** Columns of one line; what is longer is folded. */
const width = 110;

/** The answer for people: one line of verdict, then one line per link, the first broken one marked by an arrow and its next step. */
export function diagnosisText(diagnosis: Diagnosis, options: { colors: boolean }): string {
  const paint = (code: string, text: string) => (options.colors ? `\u001b[${code}m${text}\u001b[0m` : text);
  const { subject, verdict, checks, firstBroken } = diagnosis;
  const column = Math.max(...checks.map(({ link }) => link.length));
  const rows = checks.flatMap((check, index) => rowsOf(check, { isFirst: index === firstBroken, column, paint }));
  return [`${subject}: ${paint(verdictColors[verdict], headline(diagnosis))}`, "", ...rows].join("\n");
}

function headline({ verdict, checks, firstBroken }: Diagnosis): string {
  switch (verdict) {
    case "healthy":
      return "healthy";
    case "broken":
      return `broken at ${checks[firstBroken ?? 0]?.link}`;
    case "unknown":
      return "cannot tell";
  }
}

interface RowOptions {
  isFirst: boolean;
  column: number;
  paint: (code: string, text: string) => string;
}

function rowsOf({ link, outcome, evidence, next }: Check, { isFirst, column, paint }: RowOptions): string[] {
  const mark = paint(outcomeColors[outcome], marks[outcome].padEnd(6));
  const indent = " ".repeat(column + 12);
  const [first = "", ...rest] = fold(evidence, width - indent.length);
  const lines = [
    `${isFirst ? "->" : "  "} ${mark} ${link.padEnd(column)}  ${first}`,
    ...rest.map((line) => `${indent}${line}`),
  ];
  // What follows the first broken link is mostly its consequence: its own next step would only distract.
  const advice =
    next === undefined || (outcome === "broken" && !isFirst) ? [] : fold(`Next: ${next}`, width - indent.length);
  return [...lines, ...advice.map((line) => `${indent}${isFirst ? paint("1", line) : line}`)];
}

function fold(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** The answer for programs. */
export function diagnosisJson({ subject, verdict, checks, firstBroken }: Diagnosis): string {
  const first = firstBroken === undefined ? undefined : checks[firstBroken]?.link;
  return JSON.stringify({ subject, verdict, ...(first !== undefined && { brokenAt: first }), checks }, undefined, 2);
}
