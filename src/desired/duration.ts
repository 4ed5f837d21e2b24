const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3600 };

/** Seconds of a `drainTimeout` such as 30s, 5m or 1h; undefined for what the CRD would have refused. */
export function durationSeconds(text: string): number | undefined {
  const match = /^(\d{1,5})([smh])$/.exec(text);
  const unit = unitSeconds[match?.[2] ?? ""];
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit;
}
