/**
 * The chart's values as users read them. `chart/values.schema.json` is the one source: types, defaults and descriptions
 * stand there, `chart/values.yaml` and the table of docs/reference/chart.md are written from it.
 */

import { stringify } from "yaml";
import schemaFile from "../chart/values.schema.json" with { type: "json" };

/** The part of JSON Schema draft 7 that values.schema.json uses for a value. */
interface ValueSchema {
  description: string;
  type?: string | readonly string[];
  allOf?: readonly { $ref: string }[];
  enum?: readonly unknown[];
  minimum?: number;
  maximum?: number;
  default?: unknown;
  examples?: readonly unknown[];
  properties?: Record<string, ValueSchema>;
}

const schema = schemaFile as unknown as { properties: Record<string, ValueSchema> } & {
  definitions: Record<string, { type: string | readonly string[] }>;
};

/** A value of the schema that has neither a description, a default nor properties of its own. */
export class ValueWithoutTextError extends Error {
  constructor(path: string, missing: string) {
    super(`chart/values.schema.json: ${path} has no ${missing}`);
    this.name = "ValueWithoutTextError";
  }
}

/** Text of `chart/values.yaml`: every value with its default, its description above it. */
export function chartValues(): string {
  const head = "# Written by `npm run generate` from values.schema.json, which also checks what you set.\n";
  return head + valuesOf(schema.properties, "", 0);
}

/** Text of `chart/files/defaults.yaml`: the values that stand for absent ones, and the paths of maps that users fill, whose defaults null takes away. */
export function chartDefaults(): string {
  const maps = leavesOf(schema.properties, "").flatMap(([path, value]) => (isFilledMap(value.default) ? [path] : []));
  return block({ maps, values: defaultsOf(schema.properties) });
}

/** Text of `docs/reference/chart.md`: one table with a row for each value. */
export function chartReference(): string {
  const rows = leavesOf(schema.properties, "").map(
    ([path, value]) => `| \`${path}\` | ${typeOf(value)} | \`${flow(value.default)}\` | ${cell(value.description)} |`,
  );
  return `# Chart values

Written by \`npm run generate\` from \`chart/values.schema.json\`. Helm refuses values that are not in this table, and values of another type.

| Value | Type | Default | Meaning |
| --- | --- | --- | --- |
${rows.join("\n")}
`;
}

function valuesOf(values: Record<string, ValueSchema>, parent: string, depth: number): string {
  const indent = "  ".repeat(depth);
  return Object.entries(values)
    .map(([name, value]) => {
      const path = parent + name;
      if (!value.description) throw new ValueWithoutTextError(path, "description");
      const gap = depth === 0 ? "\n" : "";
      const comment = [...wrap(value.description, 100 - indent.length), ...exampleLines(name, value)];
      const head = gap + comment.map((line) => `${indent}# ${line}\n`).join("");
      if (value.properties) return `${head}${indent}${name}:\n${valuesOf(value.properties, `${path}.`, depth + 1)}`;
      if (value.default === undefined) throw new ValueWithoutTextError(path, "default");
      return head + indented(block({ [name]: value.default }), indent);
    })
    .join("");
}

function defaultsOf(values: Record<string, ValueSchema>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      value.properties ? defaultsOf(value.properties) : value.default,
    ]),
  );
}

function isFilledMap(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
}

function exampleLines(name: string, { examples }: ValueSchema): string[] {
  if (!examples?.length) return [];
  return [
    "For example:",
    ...block({ [name]: examples[0] })
      .trimEnd()
      .split("\n")
      .map((line) => `  ${line}`),
  ];
}

function leavesOf(values: Record<string, ValueSchema>, parent: string): [path: string, value: ValueSchema][] {
  return Object.entries(values).flatMap(([name, value]) =>
    value.properties
      ? leavesOf(value.properties, `${parent}${name}.`)
      : [[parent + name, value] as [string, ValueSchema]],
  );
}

function typeOf(value: ValueSchema): string {
  if (value.enum) return value.enum.map((choice) => `\`${choice}\``).join(", ");
  const name = value.allOf?.[0]?.$ref.split("/").at(-1);
  const type = value.type ?? (name ? schema.definitions[name]?.type : undefined) ?? "any";
  const words = typeof type === "string" ? type : type.join(" or ");
  return value.maximum === undefined ? words : `${words}, ${value.minimum}-${value.maximum}`;
}

function block(value: unknown): string {
  return stringify(value, { lineWidth: 0, singleQuote: false });
}

function flow(value: unknown): string {
  return JSON.stringify(value);
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

function indented(text: string, indent: string): string {
  return text.replaceAll(/^(?=.)/gm, indent);
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
