import { kindWords } from "./doctor.ts";
import { kebabCase, type Role, type Setting } from "./table.ts";

/** What can follow a flag, or stand for an argument. */
export type Values = { words: readonly string[] } | "file" | "anything" | "nothing";

export interface Flag {
  /** With their dashes. */
  names: readonly string[];
  meaning: string;
  values: Values;
}

export interface Command {
  name: string;
  summary: string;
  flags: readonly Flag[];
  /** Words that can be its argument. */
  argument: readonly string[];
}

/** A command as completion sees it. */
export function commandOf({ name, summary, settings }: Role): Command {
  const entries = Object.entries(settings);
  const argument = entries.find(([, { sources }]) => sources.includes("argument"))?.[1];
  return {
    name,
    summary,
    flags: [...entries.flatMap(([key, setting]) => flagsOf(key, setting)), helpFlag],
    argument: argument === undefined ? [] : argumentWords(argument),
  };
}

const helpFlag: Flag = { names: ["--help"], meaning: "Explain the command.", values: "nothing" };

function flagsOf(key: string, setting: Setting<unknown>): Flag[] {
  if (!setting.sources.includes("flag")) return [];
  const name = kebabCase(key);
  const names = [`--${name}`, ...(setting.short === undefined ? [] : [`-${setting.short}`])];
  const { meaning } = setting;
  return setting.isSwitch
    ? [
        { names, meaning, values: "nothing" },
        { names: [`--no-${name}`], meaning: `The opposite of --${name}.`, values: "nothing" },
      ]
    : [{ names, meaning, values: valuesOf(setting) }];
}

function valuesOf({ placeholder }: Setting<unknown>): Values {
  if (placeholder.includes("|")) return { words: placeholder.split("|") };
  return placeholder === "FILE" ? "file" : "anything";
}

function argumentWords(setting: Setting<unknown>): readonly string[] {
  const values = valuesOf(setting);
  if (typeof values === "object") return values.words;
  const words = Object.values(kindWords).map(([singular]) => `${singular}/`);
  return words.filter((word) => setting.accepted.includes(`${word}NAME`));
}

/** What can stand for the last of the words behind the program's name. Undefined: a file, or something that only the user knows. */
export function candidates(commands: readonly Command[], words: readonly string[]): readonly string[] | undefined {
  const [name, ...more] = words;
  const last = words.at(-1) ?? "";
  if (words.length <= 1) return startingWith(last, [...commands.map((command) => command.name), "--help", "--version"]);
  const command = commands.find((each) => each.name === name);
  if (command === undefined) return [];
  const before = command.flags.find(({ names }) => names.includes(more.at(-2) ?? ""));
  if (before !== undefined && before.values !== "nothing") {
    return typeof before.values === "object" ? startingWith(last, before.values.words) : undefined;
  }
  return startingWith(last, [...command.argument, ...command.flags.flatMap(({ names }) => names)]);
}

function startingWith(beginning: string, words: readonly string[]): string[] {
  return words.filter((word) => word.startsWith(beginning));
}
