/**
 * Kubernetes writes every quantity back in one canonical form (0.5 becomes 500m, 1024Mi becomes 1Gi). We send that form, so that
 * what is wanted and what is stored compare equal and nothing is written at rest.
 * The rules are those of k8s.io/apimachinery/pkg/api/resource (Quantity.CanonicalizeBytes).
 */

const binarySuffixes: readonly string[] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const decimalSuffixes = new Map([
  [-9, "n"],
  [-6, "u"],
  [-3, "m"],
  [0, ""],
  [3, "k"],
  [6, "M"],
  [9, "G"],
  [12, "T"],
  [15, "P"],
  [18, "E"],
]);
const decimalExponents = new Map([...decimalSuffixes].map(([exponent, suffix]) => [suffix, exponent]));

/** The canonical form; what is no quantity is given back as it is, for the API server to refuse. */
export function canonicalQuantity(given: string | number): string {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{1,3}|)$/.exec(String(given));
  if (match === null) return String(given);
  const [, sign = "", whole = "", fraction = "", suffix = ""] = match;
  if (whole === "" && fraction === "") return String(given);
  const digits = BigInt((sign === "-" ? "-" : "") + whole + fraction);
  if (suffix.endsWith("i")) return binary(digits, fraction.length, suffix);
  const isExponent = /^[eE]/.test(suffix) && suffix.length > 1;
  const exponent = isExponent ? Number(suffix.slice(1)) : (decimalExponents.get(suffix) ?? 0);
  const inNanos = scaled(digits, exponent - fraction.length + 9);
  return isExponent ? withExponent(inNanos) : decimal(inNanos);
}

/** `digits * 10^power`, rounded away from zero to a whole number. */
function scaled(digits: bigint, power: number): bigint {
  if (power >= 0) return digits * 10n ** BigInt(power);
  return roundedUp(digits, 10n ** BigInt(-power));
}

function roundedUp(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  if (value % divisor === 0n) return quotient;
  return value < 0n ? quotient - 1n : quotient + 1n;
}

function binary(digits: bigint, fractionDigits: number, suffix: string): string {
  const factor = 1024n ** BigInt(binarySuffixes.indexOf(suffix));
  const nanos = scaled(digits * factor, 9 - fractionDigits);
  const bytes = roundedUp(nanos, 10n ** 9n);
  // Below 1024 the decimal form is used, which can also keep fractions.
  if (bytes > -1024n && bytes < 1024n) return decimal(nanos);
  let value = bytes;
  let steps = 0;
  while (value !== 0n && value % 1024n === 0n && steps < binarySuffixes.length - 1) {
    value /= 1024n;
    steps += 1;
  }
  return `${value}${binarySuffixes[steps]}`;
}

function decimal(nanos: bigint): string {
  const { mantissa, exponent } = reduced(nanos, 18);
  return `${mantissa}${decimalSuffixes.get(exponent) ?? ""}`;
}

function withExponent(nanos: bigint): string {
  const { mantissa, exponent } = reduced(nanos, 297);
  return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
}

/** Takes out factors of a thousand; the exponent is a multiple of 3. */
function reduced(nanos: bigint, largest: number): { mantissa: bigint; exponent: number } {
  if (nanos === 0n) return { mantissa: 0n, exponent: 0 };
  let mantissa = nanos;
  let exponent = -9;
  while (mantissa % 1000n === 0n && exponent < largest) {
    mantissa /= 1000n;
    exponent += 3;
  }
  return { mantissa, exponent };
}
