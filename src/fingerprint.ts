import { pbkdf2 } from "node:crypto";

/**
 * What tells one secret from another where anybody may read it, in metrics and in a status: four hexadecimal digits. Two things keep it from
 * telling a weak secret to whoever guesses: a guess costs 100,000 rounds of HMAC-SHA-256 (26 ms, measured), and one in 65,536 wrong guesses has the
 * same four digits, so that a match proves nothing. The salt is the same everywhere, because both ends are to be compared.
 */
export function fingerprintOf(secret: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  pbkdf2(secret, "netaminity fingerprint 1", 100_000, 2, "sha256", (error, bits) =>
    error === null ? resolve(bits.toString("hex")) : reject(error),
  );
  return promise;
}

/** Fingerprints that were worked out once; at most `capacity` of them are remembered. */
export class Fingerprints {
  #known = new Map<string, Promise<string>>();
  #finished = new Map<string, string>();
  #pending = 0;

  constructor(readonly capacity: number) {}

  of(secret: string): Promise<string> {
    const known = this.#known.get(secret);
    if (known !== undefined) return known;
    for (const oldest of [...this.#known.keys()].slice(0, this.#known.size + 1 - this.capacity)) {
      this.#known.delete(oldest);
      this.#finished.delete(oldest);
    }
    this.#pending += 1;
    const found = this.#workOut(secret);
    this.#known.set(secret, found);
    return found;
  }

  /** Undefined while others are being worked out: whoever asks again later gets it, and nobody waits behind thousands. */
  async unlessBusy(secret: string): Promise<string | undefined> {
    return this.#finished.get(secret) ?? (this.#pending > 0 ? undefined : await this.of(secret));
  }

  async #workOut(secret: string): Promise<string> {
    try {
      const fingerprint = await fingerprintOf(secret);
      if (this.#known.has(secret)) this.#finished.set(secret, fingerprint);
      return fingerprint;
    } finally {
      this.#pending -= 1;
    }
  }
}
