/** What one agent says on `/metrics`. */
export type Samples = readonly Sample[];

export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

const line = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

/** Reads the Prometheus text format; lines that are no samples are passed over. */
export function readSamples(text: string): Samples {
  return text.split("\n").flatMap((row) => {
    const [, name, inner = "", value] = line.exec(row) ?? [];
    if (name === undefined || Number.isNaN(Number(value))) return [];
    return [
      {
        name,
        labels: Object.fromEntries([...inner.matchAll(label)].map(([, key, text]) => [key, text])),
        value: Number(value),
      },
    ];
  });
}

/** Sum of the samples of a metric that have all of these labels. */
export function sumOf(samples: Samples, name: string, labels: Readonly<Record<string, string>> = {}): number {
  return samples
    .filter(
      (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )
    .reduce((total, { value }) => total + value, 0);
}

/** Values of a counter by one of its labels, without zeros. */
export function countsBy(samples: Samples, name: string, key: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { labels, value } of samples.filter((sample) => sample.name === name && sample.value > 0)) {
    const word = labels[key] ?? "";
    counts.set(word, (counts.get(word) ?? 0) + value);
  }
  return counts;
}
