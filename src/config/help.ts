import type { Role, Setting } from "./table.ts";
import { kebabCase, variableOf } from "./table.ts";

/** The text of `netaminity ROLE --help`. `program` is the name under which it was started. */
export function roleHelp(role: Role, program = "netaminity"): string {
  const hasFile = role.settings.config !== undefined;
  const lines = [
    role.summary,
    "",
    `Usage: ${usage(role, program)}`,
    "",
    `A setting is taken from its flag, else its environment variable, ${hasFile ? "else the file given by --config, " : ""}else its default.`,
  ];
  for (const [name, setting] of Object.entries(role.settings)) {
    lines.push("", `  ${heading(name, setting)}`, ...wrap(setting.meaning, 88).map((line) => `      ${line}`));
    lines.push(`      ${[...variableText(name, setting), defaultText(setting)].join("; ")}`);
  }
  return lines.join("\n");
}

/** The text of `netaminity --help`: the roles, which run until they are stopped, and the tools, which answer and end. */
export function rootHelp(
  roles: readonly Role[],
  tools: readonly Role[],
  version: string,
  program = "netaminity",
): string {
  const width = Math.max(...[...roles, ...tools].map(({ name }) => name.length));
  const list = (some: readonly Role[]) => some.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    `netaminity ${version}: TCP tunnels across networks that can be crossed in one direction only.`,
    "",
    `Usage: ${program} COMMAND [--setting value]...`,
    `       ${program} COMMAND --help`,
    `       ${program} version`,
    "",
    "Roles:",
    ...list(roles),
    "",
    "Tools:",
    ...list(tools),
  ].join("\n");
}

function usage({ name, settings }: Role, program: string): string {
  const [argument] = Object.values(settings).filter(({ sources }) => sources.includes("argument"));
  const word =
    argument === undefined ? "" : argument.required ? ` ${argument.placeholder}` : ` [${argument.placeholder}]`;
  return `${program} ${name}${word} [--setting value]...`;
}

function heading(name: string, setting: Setting<unknown>): string {
  if (setting.sources.includes("argument")) {
    return setting.placeholder;
  }
  const flag = `--${kebabCase(name)}`;
  if (!setting.sources.includes("flag")) {
    return `${variableOf(name)} (environment only)`;
  }
  const short = setting.short === undefined ? "" : `-${setting.short}, `;
  if (setting.isSwitch) {
    return `${short}${flag}, --no-${kebabCase(name)}`;
  }
  return `${short}${flag} ${setting.placeholder}${setting.repeatable ? " ..." : ""}`;
}

function variableText(name: string, setting: Setting<unknown>): string[] {
  if (!setting.sources.includes("environment")) {
    return [];
  }
  const borrowed = setting.borrowedVariable === undefined ? "" : `, else ${setting.borrowedVariable}`;
  return [`environment: ${variableOf(name)}${borrowed}`];
}

function defaultText(setting: Setting<unknown>): string {
  if (setting.required) {
    return "required";
  }
  return setting.defaultText === undefined ? "no default" : `default: ${setting.defaultText}`;
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines;
}
