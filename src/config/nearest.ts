/** Names that differ in more than a third of their letters are not worth suggesting. */
const tolerance = 3;

/** The candidate that a mistyped name was most likely meant to be; undefined when none is close. */
export function nearest(given: string, candidates: Iterable<string>): string | undefined {
  let best: { name: string; distance: number } | undefined;
  for (const name of candidates) {
    const distance = editDistance(given.toLowerCase(), name.toLowerCase());
    if (distance <= Math.ceil(name.length / tolerance) && (best === undefined || distance < best.distance)) {
      best = { name, distance };
    }
  }
  return best?.name;
}

/** ` (did you mean X?)`, or nothing. */
export function suggestion(given: string, candidates: Iterable<string>, prefix = ""): string {
  const name = nearest(given, candidates);
  return name === undefined ? "" : ` (did you mean ${prefix}${name}?)`;
}

/** Levenshtein distance, one row of the table at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
