/** What a secret is, wherever it comes from: a file, a variable, or a Secret of Kubernetes. Pure. */

const maxSecretBytes = 64 * 1024;

/** Says what is wrong and nothing of the secret. */
export class SecretTextError extends Error {
  override readonly name: string = "SecretTextError";
}

export class EmptySecretError extends SecretTextError {
  override readonly name = "EmptySecretError";
}

/**
 * The secret in these bytes: UTF-8 text without the one line break that editors and `echo` put at the end. Strict, because a lossy decoder
 * would make different bytes the same secret. Variables have been through such a decoder already, which leaves U+FFFD behind: that is
 * refused everywhere, so that both ends agree. Throws SecretTextError, or EmptySecretError when nothing is left.
 */
export function secretText(bytes: Uint8Array): string {
  if (bytes.byteLength > maxSecretBytes) {
    throw new SecretTextError(`it is larger than ${maxSecretBytes} bytes`);
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SecretTextError("it is not UTF-8 text");
  }
  if (text.includes("\ufffd")) {
    throw new SecretTextError("it is not UTF-8 text, or has lost some of it (U+FFFD stands where bytes were)");
  }
  const secret = text.replace(/\r?\n$/, "");
  if (secret === "") {
    throw new EmptySecretError("it is empty");
  }
  return secret;
}

/** What people do not see, and what tools add: each makes a secret another one than it looks like. */
const oddities: readonly (readonly [sign: RegExp, says: string])[] = [
  [/^\ufeff/, "begins with a byte order mark"],
  [/^\ufeff?[^\S\r\n\ufeff]/, "begins with a blank"],
  [/[^\S\r\n]$/, "ends with a blank"],
  [/[\r\n]$/, "ends with a second line break"],
  [/[\r\n]+[^\r\n]/, "has a line break inside"],
  [/\0/, "contains NUL"],
  [/^(["'`]).*\1$/s, "is in quotation marks"],
  [/(?!^\ufeff)(?![\0\t\r\n])[\p{Cc}\p{Cf}]/u, "contains an invisible character"],
];

/** What makes one suspect that a secret is not what was meant, such as `ends with a blank`; undefined when it looks fine. Tells nothing else of it. */
export function suspicionOf(secret: string): string | undefined {
  const found = oddities.filter(([sign]) => sign.test(secret)).map(([, says]) => says);
  return found.length === 0 ? undefined : found.join(" and ");
}
