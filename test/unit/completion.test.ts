import { describe, expect, test } from "bun:test";
import { kinds } from "../../src/api/kinds.ts";
import { completionScript } from "../../src/config/completion-script.ts";
import { candidates, commandOf } from "../../src/config/completion-words.ts";
import { kindWords } from "../../src/config/doctor.ts";
import { roles, tools } from "../../src/config/roles.ts";
import { kebabCase } from "../../src/config/table.ts";

const commands = [...roles, ...tools];

/** What bash offers for the last word of a command line. */
function complete(...words: string[]): string[] {
  const script = `${completionScript("bash", commands)}
    compopt() { :; }
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _netaminity; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const child = Bun.spawnSync(["bash", "-c", script, "bash", "netaminity", ...words], { timeout: 10_000 });
  expect(child.stderr.toString()).toBe("");
  return child.stdout
    .toString()
    .split("\n")
    .filter((line) => line !== "");
}

/** The same for kubectl, which has no completion of files in these places. */
const completeForKubectl = (...words: string[]): readonly string[] => candidates(commands.map(commandOf), words) ?? [];

describe.each([
  ["bash", complete],
  ["kubectl", completeForKubectl],
] as const)("%s", (_, answer) => {
  test.each([
    [[""], [...commands.map(({ name }) => name), "--help", "--version"]],
    [["d"], ["doctor", "dashboard"]],
    [
      ["doctor", "t"],
      ["tunnel/", "target/"],
    ],
    [["doctor", "--out"], ["--output"]],
    [
      ["doctor", "-o", ""],
      ["text", "json"],
    ],
    [
      ["target", "--send-proxy-protocol", "v"],
      ["v1", "v2"],
    ],
    [["target", "--endpoint", ""], []],
    [
      ["completion", ""],
      ["bash", "zsh", "fish", "--help"],
    ],
    [["nonsense", ""], []],
  ])("completes %p", (words, expected) => expect(answer(...words)).toEqual(expected));
});

test.each([
  ["bash", (name: string) => `--${name} `],
  ["zsh", (name: string) => `'--${name}[`],
  ["fish", (name: string) => ` -l ${name} `],
] as const)("the script for %s knows every flag of every command", (shell, form) => {
  const script = completionScript(shell, commands);
  for (const { settings } of commands) {
    for (const [name] of Object.entries(settings).filter(([, { sources }]) => sources.includes("flag"))) {
      expect(script).toContain(form(kebabCase(name)));
    }
  }
  // Nothing may end a quoted word early.
  expect(script.split("\n").filter((line) => (line.match(/'/g) ?? []).length % 2 !== 0)).toEqual([]);
});

test("the words for kinds are those that kubectl takes", () => {
  const own = kinds.map(({ kind, singular, plural, shortName }) => [kind, [singular, plural, shortName]]);
  expect(kindWords).toEqual({ ...Object.fromEntries(own), Service: ["service", "services", "svc"] });
});
