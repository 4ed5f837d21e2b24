/** What `/metrics` of a role said at one moment. */
export interface Metrics {
  readonly text: string;
  /** Sum over the series of that name which carry all of `labels`; 0 when there is none. */
  sum(name: string, labels?: Record<string, string>): number;
  has(name: string): boolean;
}

interface Series {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Reads the Prometheus text format; a line that is none fails the test. */
export function readMetrics(text: string): Metrics {
  const series = text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map(readSeries);
  return {
    text,
    sum: (name, labels = {}) =>
      series
        .filter((one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value))
        .reduce((sum, one) => sum + one.value, 0),
    has: (name) => series.some((one) => one.name === name),
  };
}

function readSeries(line: string): Series {
  const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/.exec(line);
  const [, name, labelText = "", value] = match ?? [];
  if (name === undefined || value === undefined) throw new Error(`not a line of the Prometheus text format: ${line}`);
  const labels = [...labelText.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(([, key = "", text = ""]) => [
    key,
    text,
  ]);
  return {
    name,
    labels: Object.fromEntries(labels),
    value: value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value),
  };
}
