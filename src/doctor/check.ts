/** One link of the path from consumer to backend, and what was found about it. */
export interface Check {
  link: string;
  outcome: Outcome;
  /** What was seen, in a sentence. */
  evidence: string;
  /** What a person does about it. */
  next?: string;
  /** Whether the verdict needs this link: it is healthy only when all such links are ok. */
  decides?: true;
}

/** `skipped` says nothing about the path: there was nothing to look at, or nobody asked. */
export type Outcome = "ok" | "broken" | "unknown" | "skipped";
export type Verdict = "healthy" | "broken" | "unknown";

/** Checks in the order of the path. */
export interface Diagnosis {
  /** What was examined, for example `tunnel/api in namespace demo`. */
  subject: string;
  verdict: Verdict;
  /** Position of the first broken link in `checks`; absent when none is. */
  firstBroken?: number;
  checks: readonly Check[];
}

export const ok = (link: string, evidence: string): Check => ({ link, outcome: "ok", evidence });
/** Nothing is wrong, but a person should know, and may want to do something. */
export const remark = (link: string, evidence: string, next: string): Check => ({ ...ok(link, evidence), next });
export const broken = (link: string, evidence: string, next: string): Check => ({
  link,
  outcome: "broken",
  evidence,
  next,
});
export const unknown = (link: string, evidence: string, next?: string): Check => ({
  link,
  outcome: "unknown",
  evidence,
  ...(next !== undefined && { next }),
});
export const skipped = (link: string, evidence: string): Check => ({ link, outcome: "skipped", evidence });
export const deciding = (check: Check): Check => ({ ...check, decides: true });

export function diagnose(subject: string, checks: readonly Check[]): Diagnosis {
  const firstBroken = checks.findIndex(({ outcome }) => outcome === "broken");
  const deciders = checks.filter(({ decides }) => decides === true);
  const isProved = deciders.length > 0 && deciders.every(({ outcome }) => outcome === "ok");
  return {
    subject,
    verdict: firstBroken >= 0 ? "broken" : isProved ? "healthy" : "unknown",
    ...(firstBroken >= 0 && { firstBroken }),
    checks,
  };
}

/** Exit code of the process. 2 is for wrong usage. */
export const exitCodes: Readonly<Record<Verdict, 0 | 1 | 3>> = { healthy: 0, broken: 1, unknown: 3 };
