type Given = { secretFingerprint?: string | "later" };

/** Milliseconds until a fingerprint that was being worked out is asked for again. */
const pause = 10_000;

/** What a status says of the secret's fingerprint: while a new one is worked out, what it said before. */
export function fingerprintStatus({ secretFingerprint: found }: Given, before: Given | undefined): Given {
  const told = found === "later" ? before?.secretFingerprint : found;
  return told === undefined ? {} : { secretFingerprint: told };
}

/** When to look for it again, in milliseconds. */
export function fingerprintPause({ secretFingerprint }: Given): number | undefined {
  return secretFingerprint === "later" ? pause : undefined;
}
