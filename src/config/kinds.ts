import { type HostPort, parseHostPort } from "../endpoint.ts";
import { parseVia, type Via } from "../via.ts";

/** A type of setting: how its text is read and how that is explained. */
export interface Kind<Value> {
  /** Stands for the value in help texts. */
  readonly placeholder: string;
  /** Completes "accepted: ..." in an error. */
  readonly accepted: string;
  /** A flag alone means true, and `--no-NAME` false. */
  readonly isSwitch?: true;
  /** A flag may be repeated. */
  readonly repeatable?: true;
  /** In a config file it is a mapping. */
  readonly isMapping?: true;
  /** Undefined when the text is not accepted. */
  parse(text: string): Value | undefined;
}

export const boolean: Kind<boolean> = {
  placeholder: "true|false",
  accepted: "true or false",
  isSwitch: true,
  parse: (text) => (text === "true" ? true : text === "false" ? false : undefined),
};

/** A path; whether the file can be read is found out where it is read. */
export const file: Kind<string> = {
  placeholder: "FILE",
  accepted: "the path of a file",
  parse: (text) => (text === "" || text.includes("\0") ? undefined : text),
};

/** Text without further rules, for example a secret. */
export function text(placeholder: string, accepted: string, pattern = /^[^\0]+$/): Kind<string> {
  return { placeholder, accepted, parse: (given) => (pattern.test(given) ? given : undefined) };
}

export function oneOf<const Choice extends string>(choices: readonly Choice[]): Kind<Choice> {
  return {
    placeholder: choices.join("|"),
    accepted: `one of ${choices.join(", ")}`,
    parse: (given) => choices.find((choice) => choice === given),
  };
}

/** Whole numbers from `min` to `max`. */
export function integer(min: number, max: number): Kind<number> {
  return {
    placeholder: "NUMBER",
    accepted: `a whole number from ${min} to ${max}`,
    parse: (given) => (/^\d{1,15}$/.test(given) && within(Number(given), min, max) ? Number(given) : undefined),
  };
}

const unitMilliseconds = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Milliseconds, from `min` to `max`, written with units. */
export function duration(min: string, max: string): Kind<number> {
  const [lowest, highest] = [parseDuration(min) ?? 0, parseDuration(max) ?? Number.POSITIVE_INFINITY];
  return {
    placeholder: "DURATION",
    accepted: `a duration from ${min} to ${max}, such as 500ms, 10s or 2m`,
    parse: (given) => {
      const milliseconds = parseDuration(given);
      return milliseconds !== undefined && within(milliseconds, lowest, highest) ? milliseconds : undefined;
    },
  };
}

/** Reads `500ms`, `10s`, `2m`, `1h` and sums such as `1m30s` into milliseconds. */
function parseDuration(given: string): number | undefined {
  const match = /^(?=\d)(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?(?:(\d{1,12})ms)?$/.exec(given);
  if (match === null) {
    return undefined;
  }
  const [, h = "0", m = "0", s = "0", ms = "0"] = match;
  const { h: hour, m: minute, s: second } = unitMilliseconds;
  return Number(h) * hour + Number(m) * minute + Number(s) * second + Number(ms);
}

/** Where to connect to: port 0 leads nowhere. */
export const remoteEndpoint: Kind<HostPort> = {
  placeholder: "HOST:PORT",
  accepted: "HOST:PORT with a name, an IPv4 address or an [IPv6] address, and a port from 1 to 65535",
  parse: (given) => {
    const endpoint = parseHostPort(given);
    return endpoint?.port === 0 ? undefined : endpoint;
  },
};

/** An HTTP proxy, or the word for the one that the environment names. */
export const httpProxy: Kind<Via | "environment"> = {
  placeholder: "URL|environment",
  accepted:
    "http://HOST:PORT or http://USER:PASSWORD@HOST:PORT of an HTTP proxy that knows CONNECT, or environment (the one that HTTPS_PROXY names)",
  parse: (given) => (given === "environment" ? given : parseVia(given)),
};

/** Where to listen: port 0 lets the system choose one, `:PORT` means every address. */
export const listenEndpoint: Kind<HostPort> = {
  placeholder: "HOST:PORT",
  accepted: "HOST:PORT with an address of this machine ([::] for all), and a port from 0 to 65535 (0: any free one)",
  parse: (given) => parseHostPort(given.startsWith(":") ? `[::]${given}` : given),
};

/** A value with fields of its own; whoever uses it knows which. */
export const json: Kind<Readonly<Record<string, unknown>>> = {
  placeholder: "JSON",
  accepted: "a JSON object (in a config file a mapping)",
  isMapping: true,
  parse: (given) => {
    try {
      const value: unknown = JSON.parse(given);
      return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
    } catch {
      return undefined;
    }
  },
};

/** Several values of one kind: repeated flags, a YAML list, or commas. */
export function listOf<Value>(kind: Kind<Value>): Kind<readonly Value[]> {
  return {
    placeholder: kind.placeholder,
    accepted: `${kind.accepted}; several are separated by commas`,
    repeatable: true,
    parse: (given) => {
      const values = given.split(",").map((part) => kind.parse(part.trim()));
      return values.every((value) => value !== undefined) ? values : undefined;
    },
  };
}

function within(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}
