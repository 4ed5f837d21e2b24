import { createPublicKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** A private key and a certificate that it signed itself, as PEM texts. */
export interface Identity {
  key: string;
  cert: string;
}

/** A length of 128 and more has the number of its own bytes in front, and as few of them as possible (X.690, sections 8.1.3 and 10.1). */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >>> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const integer = (bytes: Uint8Array) => der(0x02, bytes);
/** Zero bits are left out at its end. */
const bits = (bytes: Uint8Array) => der(0x03, Buffer.of(0), bytes);
const time = (text: string) => der(0x18, Buffer.from(text));
/** An object identifier in its encoded form. */
const identifier = (hex: string) => der(0x06, Buffer.from(hex, "hex"));

const ecdsaWithSha256 = sequence(identifier("2a8648ce3d040302"));
const commonName = identifier("550403");
const name = sequence(der(0x31, sequence(commonName, der(0x0c, Buffer.from("netaminity")))));
/** Nobody judges it: as long as the form allows (RFC 5280, section 4.1.2.5). */
const validity = sequence(time("20000101000000Z"), time("99991231235959Z"));
/** A version 3 certificate. */
const version = der(0xa0, integer(Buffer.of(2)));

function pem(label: string, bytes: Uint8Array): string {
  const lines = Buffer.from(bytes).toString("base64").replaceAll(/.{64}/g, "$&\n").trimEnd();
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}

/**
 * Makes a key on P-256 and a certificate for it (RFC 5280), in memory. It says nothing about who shows it: TLS wants one, and what
 * authenticates is the secret.
 */
export function makeIdentity(): Identity {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const publicKey = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  // Positive, and without a leading zero byte.
  const serial = integer(Buffer.concat([Buffer.of(0x40), randomBytes(15)]));
  const content = sequence(version, serial, ecdsaWithSha256, name, validity, name, publicKey);
  const certificate = sequence(content, ecdsaWithSha256, bits(sign("sha256", content, privateKey)));
  return {
    key: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    cert: pem("CERTIFICATE", certificate),
  };
}
