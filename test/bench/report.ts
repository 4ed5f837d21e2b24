import type { Line } from "./results.ts";

/** Text of one cell or heading; numbers are already formatted. */
type Cells = readonly string[];

/** A plain table with aligned columns: the first one to the left, all others to the right. */
export function table(heading: Cells, body: readonly Cells[]): string {
  const widths = heading.map((cell, column) =>
    Math.max(cell.length, ...body.map((cells) => cells[column]?.length ?? 0)),
  );
  const render = (cells: Cells) =>
    widths
      .map((width, column) =>
        column === 0 ? (cells[column] ?? "").padEnd(width) : (cells[column] ?? "").padStart(width),
      )
      .join("  ")
      .trimEnd();
  return [render(heading), widths.map((width) => "-".repeat(width)).join("  "), ...body.map(render)].join("\n");
}

/** All sections of the report, one table each, medians and median ratios. */
export function report(lines: readonly Line[], products: readonly string[]): string {
  const sections = Map.groupBy(lines, (line) => line.metric.section);
  return [...sections].map(([section, members]) => `${section}\n${sectionTable(members, products)}`).join("\n\n");
}

function sectionTable(lines: readonly Line[], products: readonly string[]): string {
  const shown = products.filter((product) => lines.some((line) => line.medians[product] !== undefined));
  const variants = shown.filter((product) => lines.some((line) => line.toNetaminity[product] !== undefined));
  const heading = [
    "",
    ...shown,
    "to best peer",
    "to haproxy",
    ...variants.map((name) => `${name} to netaminity`),
    "goal",
  ];
  const body = lines.map((line) => [
    line.metric.label,
    ...shown.map((product) => fixed(line.medians[product], line.metric.digits)),
    fixed(line.toPeers, 2),
    fixed(line.toHaproxy, 2),
    ...variants.map((name) => fixed(line.toNetaminity[name], 2)),
    goalText(line),
  ]);
  return table(heading, body);
}

function goalText({ metric: { goal, better }, verdict }: Line): string {
  if (goal === undefined || verdict === undefined) return "";
  const wanted =
    "limit" in goal
      ? `< ${goal.limit}`
      : "ratio" in goal
        ? `${better === "higher" ? ">=" : "<="} ${goal.ratio}${goal.aboveRelay === true ? ", above haproxy" : ""}`
        : `<= ${goal.trips} round trips`;
  return `${wanted} ${verdict === "met" ? "met" : "MISSED"}`;
}

function fixed(value: number | undefined, digits: number): string {
  return value === undefined ? "-" : value.toFixed(digits);
}
