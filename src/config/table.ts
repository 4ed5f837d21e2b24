import type { Kind } from "./kinds.ts";

/** Where a value can come from, the strongest first. An argument is the one word of the command line that is no flag. */
export type Source = "argument" | "flag" | "environment" | "file";

/** One row of a role's table: everything that parsing, help, errors and docs need to know about a setting. */
export interface Setting<Value> {
  readonly placeholder: string;
  readonly accepted: string;
  /** One sentence for users, without the default. */
  readonly meaning: string;
  /** As a user would write it; undefined when there is none. */
  readonly defaultText: string | undefined;
  readonly required: boolean;
  readonly sources: readonly Source[];
  /** One letter that stands for the flag, as in `-n`. */
  readonly short: string | undefined;
  /** A variable that other programs set, read when the setting is given nowhere. */
  readonly borrowedVariable: string | undefined;
  /** A flag of its own means true, and `--no-NAME` false. */
  readonly isSwitch: boolean;
  /** A flag may be repeated. */
  readonly repeatable: boolean;
  /** In a config file it is a mapping. */
  readonly isMapping: boolean;
  /** The value must appear in no message. */
  readonly confidential: boolean;
  /** Undefined when the text is not accepted. */
  parse(text: string): { value: Value } | undefined;
  /** What applies when nothing is given; undefined when the setting is required. */
  readonly absent: { value: Value } | undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: a table holds settings of every type, and each keeps its own.
export type Table = Readonly<Record<string, Setting<any>>>;

/** The values that a table yields, by camelCase name. */
export type Values<T extends Table> = {
  readonly [Name in keyof T]: T[Name] extends Setting<infer Value> ? Value : never;
};

/** A role or another command of the executable with its settings. */
export interface Role<T extends Table = Table> {
  /** The subcommand. */
  readonly name: string;
  /** One sentence. */
  readonly summary: string;
  readonly settings: T;
  /** What is wrong with values that are each fine alone; undefined when nothing is. */
  check?(values: Values<T>): string | undefined;
}

export interface Options {
  sources?: readonly Source[];
  short?: string;
  borrowedVariable?: string;
  confidential?: boolean;
}

const everywhere: readonly Source[] = ["flag", "environment", "file"];

export function withDefault<Value>(
  kind: Kind<Value>,
  defaultText: string,
  meaning: string,
  options: Options = {},
): Setting<Value> {
  const value = kind.parse(defaultText);
  if (value === undefined) {
    throw new Error(`the default ${JSON.stringify(defaultText)} is not ${kind.accepted}`);
  }
  return {
    ...row(kind, meaning, options),
    parse: parser<Value>(kind),
    defaultText,
    required: false,
    absent: { value },
  };
}

export function optional<Value>(kind: Kind<Value>, meaning: string, options: Options = {}): Setting<Value | undefined> {
  return {
    ...row(kind, meaning, options),
    parse: parser<Value>(kind),
    defaultText: undefined,
    required: false,
    absent: { value: undefined },
  };
}

export function required<Value>(kind: Kind<Value>, meaning: string, options: Options = {}): Setting<Value> {
  return {
    ...row(kind, meaning, options),
    parse: parser<Value>(kind),
    defaultText: undefined,
    required: true,
    absent: undefined,
  };
}

function row(kind: Kind<unknown>, meaning: string, options: Options) {
  return {
    placeholder: kind.placeholder,
    accepted: kind.accepted,
    meaning,
    sources: options.sources ?? everywhere,
    short: options.short,
    borrowedVariable: options.borrowedVariable,
    isSwitch: kind.isSwitch === true,
    repeatable: kind.repeatable === true,
    isMapping: kind.isMapping === true,
    confidential: options.confidential ?? false,
  };
}

function parser<Value>(kind: Kind<Value>): (text: string) => { value: Value } | undefined {
  return (text) => {
    const value = kind.parse(text);
    return value === undefined ? undefined : { value };
  };
}

/** `drainTimeout` -> `drain-timeout`. */
export function kebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `drainTimeout` -> `NETAMINITY_DRAIN_TIMEOUT`. */
export function variableOf(name: string): string {
  return `${variablePrefix}${kebabCase(name).replaceAll("-", "_").toUpperCase()}`;
}

export const variablePrefix = "NETAMINITY_";
