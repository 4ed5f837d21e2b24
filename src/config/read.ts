import { UsageError } from "../errors.ts";
import { fromFile } from "./config-file.ts";
import { type Environment, fromBorrowedVariables, fromEnvironment, unknownVariables } from "./environment.ts";
import { fromFlags } from "./flags.ts";
import type { Given } from "./given.ts";
import { kebabCase, type Role, type Setting, type Table, type Values, variableOf } from "./table.ts";

export interface Input {
  /** Arguments behind the subcommand. */
  args: readonly string[];
  environment: Environment;
  /** Names of settings of other roles: their variables are no mistake, because roles may share an environment. */
  otherSettings?: readonly string[];
}

export interface Settings<T extends Table> {
  values: Values<T>;
  /** For the log, once there is one. */
  warnings: string[];
}

/** Gives every setting its value: flag, else environment, else file, else default. Throws UsageError with one line about the first mistake. */
export function readSettings<T extends Table>(role: Role<T>, input: Input): Settings<T> {
  const table = role.settings;
  const flags = fromFlags(input.args, table);
  const environment = fromEnvironment(input.environment, table);
  const path = flags.get("config") ?? environment.get("config");
  const file = path === undefined ? new Map<string, Given>() : fromFile(path.text, table);

  const borrowed = fromBorrowedVariables(input.environment, table);

  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(table)) {
    const given = flags.get(name) ?? environment.get(name) ?? file.get(name) ?? borrowed.get(name);
    const read = given === undefined ? setting.absent : setting.parse(given.text);
    if (read === undefined) {
      throw new UsageError(
        given === undefined
          ? `${kebabCase(name)} is not given; accepted: ${setting.accepted}${placesOf(name, setting)}`
          : `${kebabCase(name)} was given ${setting.confidential ? "an unusable value" : JSON.stringify(given.text)} by ${given.origin}; accepted: ${setting.accepted}`,
      );
    }
    values[name] = read.value;
  }
  const result = values as Values<T>;
  const conflict = role.check?.(result);
  if (conflict !== undefined) {
    throw new UsageError(conflict);
  }
  return {
    values: result,
    warnings: unknownVariables(input.environment, [...Object.keys(table), ...(input.otherSettings ?? [])]),
  };
}

function placesOf(name: string, { sources }: Setting<unknown>): string {
  const places = [
    ...(sources.includes("flag") ? [`--${kebabCase(name)}`] : []),
    ...(sources.includes("environment") ? [variableOf(name)] : []),
  ];
  return places.length === 0 ? "" : `, as ${places.join(" or ")}`;
}
