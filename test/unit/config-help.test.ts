import { describe, expect, test } from "bun:test";
import { roleHelp, rootHelp } from "../../src/config/help.ts";
import { nearest } from "../../src/config/nearest.ts";
import { settingsReference } from "../../src/config/reference.ts";
import { roles, tools } from "../../src/config/roles.ts";
import { kebabCase, type Setting, variableOf } from "../../src/config/table.ts";
import { targetRole } from "../../src/config/target.ts";

const commands = [...roles, ...tools];

/** How the command line gives a setting. */
function wordOf(name: string, { sources, placeholder }: Setting<unknown>): string {
  if (sources.includes("argument")) {
    return placeholder;
  }
  return sources.includes("flag") ? `--${kebabCase(name)}` : `${variableOf(name)} (environment only)`;
}

describe.each(commands.map((role) => [role.name, role] as const))(
  "the help and the reference page of %s",
  (_, role) => {
    test.each(Object.entries(role.settings))("name %s with its variable, meaning and default", (name, setting) => {
      const help = roleHelp(role).replaceAll(/\s+/g, " ");
      const variable = setting.sources.includes("environment") ? `environment: ${variableOf(name)}` : "";
      for (const part of [wordOf(name, setting), variable, setting.meaning, setting.defaultText ?? ""]) {
        expect(help).toContain(part);
      }
      const section = settingsReference().split(`## netaminity ${role.name}\n`)[1]?.split("\n## ")[0];
      const row = section?.split("\n").find((line) => line.includes(`| ${setting.meaning} `));
      expect(row).toContain(`| ${setting.meaning} Accepted: ${setting.accepted.replaceAll("|", "\\|")}. |`);
    });
  },
);

test("a setting in the help has flag, meaning, variable and default", () => {
  const help = roleHelp(targetRole);
  expect(help).toContain(
    [
      "  --proxy-endpoint HOST:PORT",
      "      The rendezvous of the proxy to connect to.",
      "      environment: NETAMINITY_PROXY_ENDPOINT; required",
      "",
    ].join("\n"),
  );
  expect(help).toContain("\n      environment: NETAMINITY_DEADLINE; default: 6s\n");
});

test("every row of the reference page has the same number of columns, also where a value contains a bar", () => {
  const rows = settingsReference()
    .split("\n")
    .filter((line) => line.startsWith("| "));
  expect(rows.length).toBeGreaterThan(roles.length * 2);
  for (const row of rows) {
    expect(row.replaceAll("\\|", "").split("|").length).toBe(7);
  }
});

test("no line of a help text is wider than 120 columns", () => {
  for (const text of [rootHelp(roles, tools, "1.2.3"), ...commands.map((role) => roleHelp(role))]) {
    expect(text.split("\n").filter((line) => line.length > 120)).toEqual([]);
  }
});

test("the help of the program lists the roles, and says how to call it under its name", () => {
  const lines = rootHelp(roles, tools, "1.2.3", "kubectl netaminity").split("\n");
  expect(lines).toContain(`  target      ${targetRole.summary}`);
  expect(lines).toContain("Usage: kubectl netaminity COMMAND [--setting value]...");
});

test.each([
  ["lisen", "listen"],
  ["drain-timout", "drain-timeout"],
  ["DRAIN-TIMEOUT", "drain-timeout"],
  ["drian-timeout", "drain-timeout"],
  ["zzz", undefined],
  ["", undefined],
])("the nearest name to %p is %p", (given, expected) => {
  expect(nearest(given, ["listen", "drain-timeout", "deadline"])).toBe(expected);
});
