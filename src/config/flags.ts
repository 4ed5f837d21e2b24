import { UsageError } from "../errors.ts";
import type { GivenTexts } from "./given.ts";
import { suggestion } from "./nearest.ts";
import { kebabCase, type Table, variableOf } from "./table.ts";

/**
 * Reads `--name value`, `--name=value`, `--switch`, `--no-switch`, letters that stand for flags, and the argument that a command takes.
 * The last one of a repeated flag wins; lists collect.
 */
export function fromFlags(args: readonly string[], table: Table): GivenTexts {
  const flags = Object.keys(table).filter((name) => table[name]?.sources.includes("argument") === false);
  const names = new Map(flags.map((name) => [kebabCase(name), name]));
  const found: GivenTexts = new Map();
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? "";
    const match = /^--([^=]+)(?:=([\s\S]*))?$/.exec(spelledOut(arg, table));
    if (match === null) {
      const argument = Object.keys(table).find((name) => table[name]?.sources.includes("argument") && !found.has(name));
      if (argument === undefined || /^-./.test(arg)) {
        throw new UsageError(
          `unexpected argument ${JSON.stringify(arg)}; accepted: settings as --name value (see --help)`,
        );
      }
      found.set(argument, { text: arg, origin: "the argument" });
      continue;
    }
    const [, flag = "", inline] = match;
    const negated = inline === undefined ? negatedSwitch(flag, names, table) : undefined;
    const name = negated ?? names.get(flag);
    const setting = name === undefined ? undefined : table[name];
    if (name === undefined || setting === undefined) {
      throw new UsageError(`unknown flag --${flag}${suggestion(flag, names.keys(), "--")}; see --help`);
    }
    if (!setting.sources.includes("flag")) {
      throw new UsageError(`--${flag} is not accepted on the command line; accepted: the variable ${variableOf(name)}`);
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

/** `-n demo`, `-n=demo` and `-ndemo` with the letter replaced by the flag that it stands for. */
function spelledOut(arg: string, table: Table): string {
  const [, letter, value = ""] = /^-([A-Za-z])=?([\s\S]+)?$/.exec(arg) ?? [];
  const name = Object.keys(table).find((each) => letter !== undefined && table[each]?.short === letter);
  return name === undefined ? arg : `--${kebabCase(name)}${value === "" ? "" : `=${value}`}`;
}

function negatedSwitch(flag: string, names: ReadonlyMap<string, string>, table: Table): string | undefined {
  const name = flag.startsWith("no-") ? names.get(flag.slice("no-".length)) : undefined;
  return name !== undefined && table[name]?.isSwitch === true ? name : undefined;
}
