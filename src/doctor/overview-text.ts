import type { Row } from "./overview.ts";

/** The list as a table for people. The column of namespaces is there when there may be several. */
export function overviewText(rows: readonly Row[], options: { namespaces: boolean }): string {
  if (rows.length === 0) return "no Tunnel, Proxy or Target found";
  const header = ["OBJECT", "READY", "SESSIONS", "ENCRYPTED", "STREAMS", "TO-BACKEND", "TO-CONSUMER", "AGE", "REASON"];
  const table = [header, ...rows.map(cells)].map((line, index) =>
    options.namespaces ? [index === 0 ? "NAMESPACE" : (rows[index - 1]?.namespace ?? ""), ...line] : line,
  );
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0)));
  return table
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function cells(row: Row): string[] {
  const indent = row.tunnel === undefined ? "" : "  ";
  return [
    `${indent}${row.kind.toLowerCase()}/${row.name}`,
    row.ready,
    count(row.sessions),
    count(row.encrypted),
    count(row.streams),
    row.toBackend === undefined ? "?" : bytesText(row.toBackend),
    row.toConsumer === undefined ? "?" : bytesText(row.toConsumer),
    ageText(row.age),
    row.reason,
  ];
}

const count = (value: number | undefined): string => (value === undefined ? "?" : `${value}`);

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Three digits and a unit: `0 B`, `1.5 KiB`, `230 MiB`. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** As kubectl shows ages: `45s`, `12m`, `7h`, `3d`. */
export function ageText(seconds: number): string {
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
