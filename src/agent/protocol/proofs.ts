import { timingSafeEqual } from "node:crypto";

/**
 * Proofs of knowing the secret. All are HMAC-SHA256 with the key SHA256(secret), as bore does it (`src/auth.rs`); those of the extension
 * sign a label first, so that a proof made for one purpose or by one side is worth nothing for another.
 */
export type Key = Uint8Array;

export function keyOf(secret: string): Key {
  return new Bun.CryptoHasher("sha256").update(secret).digest();
}

function mac(key: Key, ...parts: (string | Uint8Array)[]): Uint8Array {
  const hasher = new Bun.CryptoHasher("sha256", key);
  for (const part of parts) hasher.update(part);
  return hasher.digest();
}

/**
 * The key for the proofs of one connection. `binding` is what only the two ends of a connection under TLS know: whoever ends TLS on both sides of
 * himself has another one on each, so that no proof of one fits the other. A plain connection has an empty one, and the key as it is.
 */
export const bound = (key: Key, binding: Uint8Array): Key =>
  binding.byteLength === 0 ? key : mac(key, "netaminity tls 1\0", binding);

/** Bytes of a message that the peer chose the text of; 16 each, hexadecimal. */
const raw = (hex: string): Uint8Array => Buffer.from(hex, "hex");

/** bore's answer to a challenge of 16 bytes. */
export const answer = (key: Key, challenge: Uint8Array): Uint8Array => mac(key, challenge);

/** What a target shows when it opens a session. The parts have fixed lengths, so their boundaries need no marks. */
export const attachProof = (key: Key, challenge: Uint8Array, nonce: string, target: string): Uint8Array =>
  mac(key, "netaminity attach 1\0", challenge, raw(nonce), raw(target));

/** What the proxy shows in return: it signs the target's nonce and the session it opened. */
export const attachedProof = (key: Key, challenge: Uint8Array, nonce: string, session: string): Uint8Array =>
  mac(key, "netaminity attached 1\0", challenge, raw(nonce), raw(session));

/** What the doctor shows: it opens nothing, so whoever passes it on gains nothing. */
export const checkProof = (key: Key, challenge: Uint8Array, nonce: string): Uint8Array =>
  mac(key, "netaminity check 1\0", challenge, raw(nonce));

/** What the proxy shows in return. */
export const checkedProof = (key: Key, challenge: Uint8Array, nonce: string): Uint8Array =>
  mac(key, "netaminity checked 1\0", challenge, raw(nonce));

/** What a proxy shows to the next one when it hands a consumer over. Addresses contain no zero byte. */
export const serveProof = (key: Key, challenge: Uint8Array, nonce: string, from: string, to: string): Uint8Array =>
  mac(key, "netaminity serve 1\0", challenge, raw(nonce), `${from}\0${to}`);

/** What the next proxy shows in return. */
export const servingProof = (key: Key, challenge: Uint8Array, nonce: string): Uint8Array =>
  mac(key, "netaminity serving 1\0", challenge, raw(nonce));

/** The key of one session, which its data connections prove to know. */
export const sessionKey = (key: Key, challenge: Uint8Array, nonce: string, session: string): Key =>
  mac(key, "netaminity session 1\0", challenge, raw(nonce), raw(session));

/** What the `number`-th data connection of a session shows; each number is good once. */
export const joinProof = (session: Key, revision: 1 | 2, number: number): Uint8Array =>
  mac(session, `netaminity join ${revision}\0${number}`);

/** What the proxy shows when it uses that connection for its `stream`-th stream. In the first revision it has one only. */
export const startProof = (session: Key, revision: 1 | 2, number: number, stream: number): Uint8Array =>
  mac(session, revision === 1 ? `netaminity start 1\0${number}` : `netaminity start 2\0${number}\0${stream}`);

/** Compares a proof in hexadecimal with the expected one in constant time. */
export function matches(expected: Uint8Array, hex: string): boolean {
  const given = raw(hex);
  return (
    hex.length === expected.byteLength * 2 &&
    given.byteLength === expected.byteLength &&
    timingSafeEqual(given, expected)
  );
}

export const toHex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
