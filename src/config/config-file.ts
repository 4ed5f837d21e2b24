import { closeSync, openSync, readSync } from "node:fs";
import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type YAMLMap,
} from "yaml";
import { errorText, UsageError } from "../errors.ts";
import type { GivenTexts } from "./given.ts";
import { suggestion } from "./nearest.ts";
import { type Setting, type Table, variableOf } from "./table.ts";

/** Reads a YAML mapping of camelCase names. Values count as they are written: `007` is not 7. */
export function fromFile(path: string, table: Table): GivenTexts {
  const place = `config file ${path}`;
  const found: GivenTexts = new Map();
  const names = Object.keys(table).filter((name) => table[name]?.sources.includes("file"));
  const content = readText(path);
  for (const { key: keyNode, value } of readMapping(content, place)?.items ?? []) {
    const key = isScalar(keyNode) ? textOf(keyNode) : written(keyNode, content);
    if (!names.includes(key) && Object.hasOwn(table, key)) {
      throw new UsageError(`${place}: ${key} is not accepted in a file; accepted: the variable ${variableOf(key)}`);
    }
    const setting = names.includes(key) ? table[key] : undefined;
    if (setting === undefined) {
      throw new UsageError(`${place}: unknown key ${JSON.stringify(key)}${suggestion(key, names)}; see --help`);
    }
    const text = settingText(value, setting);
    if (text === undefined) {
      throw new UsageError(`${place}: ${key} was given ${written(value, content)}; accepted: ${setting.accepted}`);
    }
    if (!isNothing(value)) {
      found.set(key, { text, origin: `${key} in ${place}` });
    }
  }
  return found;
}

const maxFileBytes = 1024 * 1024;

function readText(path: string): string {
  let content: Uint8Array;
  try {
    content = readBounded(path);
  } catch (cause) {
    throw new UsageError(`config: ${JSON.stringify(path)} cannot be read; accepted: the path of a YAML file`, {
      cause,
    });
  }
  if (content.byteLength > maxFileBytes) {
    throw new UsageError(`config file ${path} is larger than ${maxFileBytes} bytes`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    throw new UsageError(`config file ${path} is not UTF-8 text`);
  }
}

/** One byte more than is accepted, at most: a device may have no end. */
function readBounded(path: string): Uint8Array {
  const buffer = new Uint8Array(maxFileBytes + 1);
  const file = openSync(path, "r");
  try {
    let length = 0;
    for (;;) {
      const read = readSync(file, buffer, length, buffer.length - length, null);
      length += read;
      if (read === 0 || length === buffer.length) {
        return buffer.subarray(0, length);
      }
    }
  } finally {
    closeSync(file);
  }
}

/** The mapping in the file; undefined when there is nothing in it. */
function readMapping(content: string, place: string): YAMLMap | undefined {
  const refuse = (what: string) => new UsageError(`${place} is not YAML: ${what}`);
  const lines = new LineCounter();
  try {
    const document = parseDocument(content, { lineCounter: lines, logLevel: "error" });
    const [problem] = document.errors;
    if (problem?.code === "MULTIPLE_DOCS") {
      throw new UsageError(`${place} holds more than one document; accepted: one YAML mapping`);
    }
    if (problem !== undefined) {
      throw refuse(problem.message.split("\n")[0]?.replace(/:$/, "") ?? "");
    }
    visit(document, {
      Node: (_, node) => {
        const what = isAlias(node) ? "an alias" : node.anchor ? "an anchor" : node.tag ? "a tag" : undefined;
        if (what !== undefined) {
          const { line } = lines.linePos(node.range?.[0] ?? 0);
          throw new UsageError(
            `${place}: ${what} at line ${line}; accepted: plain values, without anchors, aliases and tags`,
          );
        }
      },
    });
    const { contents } = document;
    if (contents === null || (isScalar(contents) && contents.value === null)) {
      return undefined;
    }
    if (!isMap(contents)) {
      throw new UsageError(`${place}: accepted: a YAML mapping of setting names to values`);
    }
    return contents;
  } catch (cause) {
    // Too deep a nesting exhausts the parser's stack.
    throw cause instanceof UsageError ? cause : refuse(errorText(cause));
  }
}

function isNothing(value: unknown): boolean {
  return value === null || (isScalar(value) && value.value === null);
}

/** Undefined when it is neither one value nor, where that is accepted, a list of such. */
function settingText(value: unknown, setting: Setting<unknown>): string | undefined {
  if (isSeq(value)) {
    const { items } = value;
    return setting.repeatable && items.every((item) => isScalar(item))
      ? items.map((item) => (isNothing(item) ? "" : textOf(item))).join(",")
      : undefined;
  }
  if (isNothing(value)) {
    return "";
  }
  if (setting.isMapping && isMap(value)) {
    return JSON.stringify(value.toJSON());
  }
  if (!isScalar(value)) {
    return undefined;
  }
  // YAML writes truth in several ways.
  return setting.isSwitch && typeof value.value === "boolean" ? String(value.value) : textOf(value);
}

function textOf({ source, value }: { source?: string; value: unknown }): string {
  return source ?? String(value);
}

const maxQuoted = 80;

/** A value as it stands in the file, for a message. */
function written(node: unknown, content: string): string {
  const [start = 0, end = 0] = (isNode(node) ? (node as Node).range : undefined) ?? [];
  const text = content.slice(start, end).replaceAll(/\s+/g, " ").trim();
  return text.length > maxQuoted ? `${text.slice(0, maxQuoted)}...` : text;
}
