import { readFileSync } from "node:fs";
import { parseDocument } from "yaml";
import { UsageError } from "../errors.ts";
import type { GivenTexts } from "./given.ts";
import { suggestion } from "./nearest.ts";
import { type Table, variableOf } from "./table.ts";

/** Reads a YAML mapping of camelCase names. */
export function fromFile(path: string, table: Table): GivenTexts {
  const place = `config file ${path}`;
  const found: GivenTexts = new Map();
  const names = Object.keys(table).filter((name) => table[name]?.sources.includes("file"));
  for (const [key, value] of Object.entries(readMapping(path))) {
    if (!names.includes(key) && Object.hasOwn(table, key)) {
      throw new UsageError(`${place}: ${key} is not accepted in a file; accepted: the variable ${variableOf(key)}`);
    }
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
    throw new UsageError(`config file ${path} is not YAML: ${problem.message.split("\n")[0]?.replace(/:$/, "")}`);
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
