/** Statistics over the rounds of a benchmark. A round in which a product failed has no value: `undefined`. */

export type Better = "higher" | "lower";
export type Samples = readonly (number | undefined)[];

/** The middle value (the mean of the two middle ones for an even count); undefined when there is none. */
export function median(values: Samples): number | undefined {
  const sorted = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  return upper === undefined || lower === undefined ? undefined : (upper + lower) / 2;
}

/**
 * The median over the rounds of `subject / best of rivals`, both taken from the same round, so that a slow moment of the
 * machine weighs on both. Rounds without a subject or without any rival are left out.
 */
export function medianRatio(subject: Samples, rivals: readonly Samples[], better: Better): number | undefined {
  const ratios = subject.map((value, round) => {
    const others = rivals.map((rival) => rival[round]).filter((other) => other !== undefined);
    if (value === undefined || others.length === 0) return undefined;
    const best = better === "higher" ? Math.max(...others) : Math.min(...others);
    return best === 0 ? undefined : value / best;
  });
  return median(ratios);
}

/** The list, started at another place each round, so that no product always runs first. */
export function rotated<Item>(items: readonly Item[], round: number): Item[] {
  const start = items.length === 0 ? 0 : round % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}
