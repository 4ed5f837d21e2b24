import { readFileSync } from "node:fs";
import { parseDocument } from "yaml";
import { errorText, UsageError } from "../errors.ts";
import { suggestion } from "./nearest.ts";
import { kebabCase, type Table, variableOf, variablePrefix } from "./table.ts";

/** The text of one setting and where it was found, as a user knows that place. */
export interface Given {
  text: string;
  origin: string;
}

/** Texts by setting name. */
export type GivenTexts = Map<string, Given>;

/** Reads `--name value`, `--name=value`, `--switch` and `--no-switch`. The last one of a repeated flag wins; lists collect. */
export function fromFlags(args: readonly string[], table: Table): GivenTexts {
  const names = new Map(Object.keys(table).map((name) => [kebabCase(name), name]));
  const found: GivenTexts = new Map();
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? "";
    const match = /^--([^=]+)(?:=([\s\S]*))?$/.exec(arg);
    if (match === null) {
      throw new UsageError(
        `unexpected argument ${JSON.stringify(arg)}; accepted: settings as --name value (see --help)`,
      );
    }
    const [, flag = "", inline] = match;
    const negated = negatedSwitch(flag, names, table);
    const name = negated ?? names.get(flag);
    const setting = name === undefined ? undefined : table[name];
    if (name === undefined || setting === undefined) {
      throw new UsageError(`unknown flag --${flag}${suggestion(flag, names.keys(), "--")}; see --help`);
    }
    if (!setting.sources.includes("flag")) {
      throw new UsageError(
        `--${flag} is not accepted on the command line; accepted: the environment variable ${variableOf(name)}`,
      );
    }
    let text = inline ?? (negated === undefined ? undefined : "false");
    if (text === undefined) {
      const next = args[index + 1];
      if (setting.isSwitch) {
        text = next === "true" || next === "false" ? next : "true";
        index += text === next ? 1 : 0;
      } else if (next === undefined || next.startsWith("--")) {
        throw new UsageError(`--${flag} has no value; accepted: ${setting.accepted}`);
      } else {
        text = next;
        index += 1;
      }
    }
    const before = setting.repeatable ? found.get(name) : undefined;
    found.set(name, { text: before === undefined ? text : `${before.text},${text}`, origin: `--${flag}` });
  }
  return found;
}

function negatedSwitch(flag: string, names: ReadonlyMap<string, string>, table: Table): string | undefined {
  const name = flag.startsWith("no-") ? names.get(flag.slice("no-".length)) : undefined;
  return name !== undefined && table[name]?.isSwitch === true ? name : undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Empty variables count as absent (deployment tools write them for values that are not set), except where emptiness is a mistake. */
export function fromEnvironment(environment: Environment, table: Table): GivenTexts {
  const found: GivenTexts = new Map();
  for (const [name, setting] of Object.entries(table)) {
    for (const variable of [variableOf(name), setting.borrowedVariable]) {
      const text = variable === undefined ? undefined : environment[variable];
      if (variable !== undefined && text !== undefined && (text !== "" || setting.confidential) && !found.has(name)) {
        found.set(name, { text, origin: variable });
      }
    }
  }
  return found;
}

/** Kubernetes gives every pod variables about the Services of its namespace, so a Service may look like settings of ours. */
const serviceLink = /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT(_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?$/;

/** A line for each variable that looks like a setting but is none of `known`: worth a warning, never an error. */
export function unknownVariables(environment: Environment, known: readonly string[]): string[] {
  const variables = known.map(variableOf);
  return Object.keys(environment)
    .filter((name) => name.startsWith(variablePrefix) && !variables.includes(name) && !serviceLink.test(name))
    .filter((name) => name !== `${variablePrefix}PORT`)
    .sort()
    .map((name) => `unknown environment variable ${name} is ignored${suggestion(name, variables)}`);
}

/** Reads a YAML mapping of camelCase names. */
export function fromFile(path: string, table: Table): GivenTexts {
  const place = `config file ${path}`;
  const found: GivenTexts = new Map();
  const names = Object.keys(table).filter((name) => table[name]?.sources.includes("file"));
  for (const [key, value] of Object.entries(readMapping(path))) {
    if (!names.includes(key)) {
      throw new UsageError(`${place}: unknown key ${JSON.stringify(key)}${suggestion(key, names)}; see --help`);
    }
    const text = scalarText(value, table[key]?.repeatable === true);
    if (text === undefined) {
      throw new UsageError(`${place}: ${key} was given ${JSON.stringify(value)}; accepted: ${table[key]?.accepted}`);
    }
    if (value !== null) {
      found.set(key, { text, origin: `${key} in ${place}` });
    }
  }
  return found;
}

const maxFileBytes = 1024 * 1024;

function readMapping(path: string): Record<string, unknown> {
  let content: string;
  try {
    content = readFileSync(path, "utf8");
  } catch (cause) {
    throw new UsageError(`config: ${JSON.stringify(path)} cannot be read; accepted: the path of a YAML file`, {
      cause,
    });
  }
  if (content.length > maxFileBytes) {
    throw new UsageError(`config file ${path} is larger than ${maxFileBytes} characters`);
  }
  const document = parseDocument(content);
  const [problem] = document.errors;
  if (problem !== undefined) {
    throw new UsageError(`config file ${path} is not YAML: ${errorText(problem).replace(/:?\s*$/, "")}`);
  }
  const value: unknown = document.toJS({ maxAliasCount: 100 });
  if (value === null || value === undefined) {
    return {};
  }
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new UsageError(`config file ${path}: accepted: a YAML mapping of setting names to values`);
  }
  return value as Record<string, unknown>;
}

function scalarText(value: unknown, repeatable: boolean): string | undefined {
  if (Array.isArray(value)) {
    const parts = value.map((part: unknown) => scalarText(part, false));
    return repeatable && parts.every((part) => part !== undefined) ? parts.join(",") : undefined;
  }
  if (value === null) {
    return "";
  }
  return ["string", "number", "boolean"].includes(typeof value) ? String(value) : undefined;
}
