import { parseArgs } from "node:util";
import { rowNames } from "./rows.ts";

/** A build, or the same build with other environment, that runs next to `netaminity` under a name of its own. */
export interface Variant {
  name: string;
  executable: string;
  environment: Record<string, string>;
}

export interface Options {
  /** How often every row is measured on every product. */
  rounds: number;
  /** Length of one measured window. */
  seconds: number;
  /** Length of the window of `new-streams`. */
  sustained: number;
  rows: string[];
  /** Undefined: all that are there. */
  products: string[] | undefined;
  variants: Variant[];
  /** Congestion control of the links; undefined: the machine's own. */
  congestion: string | undefined;
  json: string | undefined;
  /** Duration of the soak instead of a benchmark, in Go's notation. */
  soak: string | undefined;
}

export class OptionError extends Error {}

const quickRows = [
  ...["throughput-1-up", "throughput-1-down", "throughput-8-up", "throughput-8-down", "rate-1", "rate-64"],
  ...["tls-throughput-1-down", "tls-rate-64"],
];

export const help = `scripts/bench [options]
  --rounds N          rounds of every row (default 5; --quick: 3)
  --seconds N         measured window of a row (default 2; --quick: 0.7)
  --sustained N       seconds for which new-streams goes on, in one round (default 60; --quick: 10)
  --quick             about two minutes: ${quickRows.join(", ")}
  --only ROW,ROW      only these rows, or all that begin so; --list prints them. Without it all are measured, which takes
                      100 minutes, 50 of them for long-*, narrow-* and lossy-*; docs/bench.md says what each means
  --products A,B      only these (default all): direct, bore, rathole, haproxy, netaminity; in the rows tls-*
                      rathole-tls, rathole-noise, haproxy-tls, netaminity-tls; of these the last one also over links
  --variant NAME=EXECUTABLE[,KEY=VALUE...]
                      one more build or environment next to dist/netaminity; repeatable. Where encryption is measured it
                      runs as NAME-tls
  --congestion NAME   congestion control of the links (default the machine's own; Linux comes with cubic)
  --json FILE         write every sample, median and ratio there
  --soak [DURATION]   instead: churn streams while both ends are restarted at random (default 5m)
  --list              print the names of the rows
  --help`;

/** Reads the command line. Throws OptionError with one line that names the option, what was given and what is accepted. */
export function parseOptions(args: readonly string[]): Options | "help" | "list" {
  const soakAt = args.indexOf("--soak");
  const given = soakAt >= 0 && (args[soakAt + 1] ?? "--").startsWith("--") ? args.toSpliced(soakAt + 1, 0, "5m") : args;
  const values = parseStrictly(given);
  if (values.help) return "help";
  if (values.list) return "list";
  const quick = values.quick ?? false;
  return {
    rounds: positive("--rounds", values.rounds, quick ? 3 : 5),
    seconds: positive("--seconds", values.seconds, quick ? 0.7 : 2),
    sustained: positive("--sustained", values.sustained, quick ? 10 : 60),
    rows: values.only === undefined ? (quick ? quickRows : rowNames()) : chosenRows(values.only),
    products: values.products?.split(","),
    variants: (values.variant ?? []).map(parseVariant),
    congestion: values.congestion,
    json: values.json,
    soak: values.soak === undefined ? undefined : duration(values.soak),
  };
}

function parseStrictly(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        rounds: { type: "string" },
        seconds: { type: "string" },
        sustained: { type: "string" },
        quick: { type: "boolean" },
        only: { type: "string" },
        products: { type: "string" },
        variant: { type: "string", multiple: true },
        congestion: { type: "string" },
        json: { type: "string" },
        soak: { type: "string" },
        list: { type: "boolean" },
        help: { type: "boolean" },
      },
    }).values;
  } catch (cause) {
    throw new OptionError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function positive(option: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!(value > 0 && value <= 3600))
    throw new OptionError(`${option}: "${text}" given, a number above 0 and up to 3600 is accepted`);
  return option === "--rounds" ? Math.ceil(value) : value;
}

function duration(text: string): string {
  if (!/^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/.test(text))
    throw new OptionError(`--soak: "${text}" given, a duration like 30s or 5m is accepted`);
  return text;
}

function chosenRows(text: string): string[] {
  const wanted = text.split(",").map((word) => word.trim());
  const unknown = wanted.find((word) => word === "" || !rowNames().some((name) => name.startsWith(word)));
  if (unknown !== undefined) throw new OptionError(`--only: "${unknown}" given, accepted are ${rowNames().join(", ")}`);
  return rowNames().filter((name) =>
    wanted.some((word) => (rowNames().includes(word) ? name === word : name.startsWith(word))),
  );
}

function parseVariant(text: string): Variant {
  const [head = "", ...pairs] = text.split(",");
  const cut = head.indexOf("=");
  const environment = Object.fromEntries(
    pairs.map((pair) => [pair.split("=")[0] ?? "", pair.slice(pair.indexOf("=") + 1)]),
  );
  if (cut < 1 || pairs.some((pair) => !pair.includes("="))) {
    throw new OptionError(`--variant: "${text}" given, NAME=EXECUTABLE[,KEY=VALUE...] is accepted`);
  }
  return { name: head.slice(0, cut), executable: head.slice(cut + 1), environment };
}
