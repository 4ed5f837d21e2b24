/**
 * The challenge that a proxy sends first on every connection is a UUID. bore sends random ones (version 4) and its client signs whatever comes;
 * ours is of version 8 (RFC 9562, section 5.8: free content) and tells a netaminity target what it talks to:
 *
 *     bytes 0-1   "nm"
 *     byte  2     revision of the extension (1)
 *     byte  3     capability bits: 1 = the proxy answers `Check`, 2 = its data connections can carry frames, 4 = it answers `StartTls`,
 *                 8 = it wants nothing but that
 *     bytes 4-5, low half of 6, 7   instance of the proxy process (28 bits)
 *     high half of 6   version 8
 *     bytes 8-15  random (the two highest bits are the variant)
 */
const magic = [0x6e, 0x6d] as const;
const revision = 1;
const answersCheck = 1;
const speaksFrames = 2;
const answersStartTls = 4;
const wantsTls = 8;

/** Whether a proxy leaves it to its peers to ask for TLS, or accepts nothing plain. */
export type ProxyEncryption = "optional" | "required";

/** A new challenge. `instance` is a 28-bit number that names the proxy process, `random` has 8 bytes. */
export function makeChallenge(instance: number, random: Uint8Array, encryption: ProxyEncryption): Uint8Array {
  const bytes = new Uint8Array(16);
  bytes.set([
    ...magic,
    revision,
    answersCheck | speaksFrames | answersStartTls | (encryption === "required" ? wantsTls : 0),
    instance >>> 20,
    instance >>> 12,
    0x80 | ((instance >>> 8) & 0x0f),
    instance,
  ]);
  bytes.set(random, 8);
  bytes[8] = 0x80 | ((random[0] ?? 0) & 0x3f);
  return bytes;
}

/** The instance of the netaminity proxy that made this challenge; undefined when another program did. */
export function challengeInstance(challenge: Uint8Array): number | undefined {
  const [b0, b1, b2, , b4 = 0, b5 = 0, b6 = 0, b7 = 0] = challenge;
  if (b0 !== magic[0] || b1 !== magic[1] || b2 !== revision || b6 >>> 4 !== 8) return undefined;
  return (b4 << 20) | (b5 << 12) | ((b6 & 0x0f) << 8) | b7;
}

const can = (challenge: Uint8Array, capability: number): boolean => ((challenge[3] ?? 0) & capability) !== 0;

/** What the proxy that made this challenge of ours does. */
export const offersCheck = (challenge: Uint8Array): boolean => can(challenge, answersCheck);
/** Its data connections can carry one stream after another, in frames. */
export const offersFrames = (challenge: Uint8Array): boolean => can(challenge, speaksFrames);
export const offersEncryption = (challenge: Uint8Array): boolean => can(challenge, answersStartTls);
export const requiresEncryption = (challenge: Uint8Array): boolean => can(challenge, wantsTls);

/** What the proxy that made this challenge of ours says of encryption. Nothing proves it: who acts on it must not depend on it. */
export function offeredEncryption(challenge: Uint8Array): "none" | ProxyEncryption {
  if (requiresEncryption(challenge)) return "required";
  return offersEncryption(challenge) ? "optional" : "none";
}

/**
 * Whether a stock bore server may have made this challenge: it is random (version 4). Only such a one may be signed as bore does it: the
 * signature of any other could be taken to the proxy that made it, where it would open a session.
 */
export const isBoreChallenge = (challenge: Uint8Array): boolean => (challenge[6] ?? 0) >>> 4 === 4;

export function formatUuid(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** The 16 bytes of a UUID whose form was checked before. */
export function parseUuid(text: string): Uint8Array {
  return Buffer.from(text.replaceAll("-", ""), "hex");
}
