import type { Role, Setting } from "./table.ts";
import { kebabCase, variableOf } from "./table.ts";

/** The text of `netaminity ROLE --help`. */
export function roleHelp(role: Role): string {
  const lines = [
    role.summary,
    "",
    `Usage: netaminity ${role.name} [--setting value]...`,
    "",
    "A setting is taken from its flag, else its environment variable, else the file given by --config, else its default.",
  ];
  for (const [name, setting] of Object.entries(role.settings)) {
    lines.push("", `  ${heading(name, setting)}`, ...wrap(setting.meaning, 88).map((line) => `      ${line}`));
    lines.push(`      ${[variableText(name, setting), defaultText(setting)].join("; ")}`);
  }
  return lines.join("\n");
}

/** The text of `netaminity --help`. */
export function rootHelp(roles: readonly Role[], version: string): string {
  const width = Math.max(...roles.map(({ name }) => name.length));
  return [
    `netaminity ${version}: TCP tunnels across networks that can be crossed in one direction only.`,
    "",
    "Usage: netaminity ROLE [--setting value]...",
    "       netaminity ROLE --help",
    "       netaminity --version",
    "",
    "Roles:",
    ...roles.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
  ].join("\n");
}

function heading(name: string, setting: Setting<unknown>): string {
  const flag = `--${kebabCase(name)}`;
  if (!setting.sources.includes("flag")) {
    return `${variableOf(name)} (environment only)`;
  }
  if (setting.isSwitch) {
    return `${flag}, --no-${kebabCase(name)}`;
  }
  return `${flag} ${setting.placeholder}${setting.repeatable ? " ..." : ""}`;
}

function variableText(name: string, setting: Setting<unknown>): string {
  const borrowed = setting.borrowedVariable === undefined ? "" : `, else ${setting.borrowedVariable}`;
  return `environment: ${variableOf(name)}${borrowed}`;
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
