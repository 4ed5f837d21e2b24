/** What the documents tell users to type is what the program takes. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { readSettings } from "../../src/config/read.ts";
import { allSettingNames, roles, tools } from "../../src/config/roles.ts";
import { variableOf } from "../../src/config/table.ts";

const root = join(import.meta.dir, "../..");
const globs = ["README.md", "docs/**/*.md", "examples/**/*", "chart/README.md", "CONTRIBUTING.md"];
const files = (await Promise.all(globs.map((glob) => Array.fromAsync(new Bun.Glob(glob).scan({ cwd: root })))))
  .flat()
  .sort();
const texts = new Map(
  await Promise.all(files.map(async (file) => [file, await Bun.file(join(root, file)).text()] as const)),
);
const commands = [...roles, ...tools];

/** `netaminity COMMAND ARGS`, alone or through kubectl, at the beginning of a line of a shell block or of ExecStart. */
function printedCommands(): [place: string, command: string, args: string[]][] {
  const line = /^(?:[A-Z_]+="\$\{[A-Z_]+\}" |ExecStart=\/usr\/local\/bin\/|kubectl )?netaminity ([a-z]+)(.*)$/gm;
  return [...texts].flatMap(([file, text]) =>
    [...text.matchAll(line)]
      .filter(([, command]) => commands.some(({ name }) => name === command))
      .map(([, command = "", rest = ""]): [string, string, string[]] => [
        file,
        command,
        (rest.split(/ #| \| /)[0] ?? "").split(/\s+/).filter((word) => word !== ""),
      ]),
  );
}

test.each(printedCommands())("%s: netaminity %s %p is accepted", (_, command, args) => {
  const role = commands.find(({ name }) => name === command);
  if (role === undefined) throw new Error("found by this very name");
  // The unit's settings stand in its environment.
  const environment = { NETAMINITY_PROXY_ENDPOINT: "a:1", NETAMINITY_ENDPOINT: "b:1" };
  expect(Object.keys(readSettings(role, { args, environment }).values)).toEqual(Object.keys(role.settings));
});

test("there are such commands in the README, the guides and the unit", () => {
  const places = new Set(printedCommands().map(([file]) => file));
  expect([...places]).toEqual(
    expect.arrayContaining([
      "README.md",
      "docs/doctor.md",
      "docs/target-without-kubernetes.md",
      "docs/two-clusters.md",
      "examples/netaminity-target.service",
    ]),
  );
});

test("every variable in the documents is one of a setting, or of the tests", () => {
  const known = [
    ...allSettingNames().map(variableOf),
    "NETAMINITY_CLUSTER",
    "NETAMINITY_KUBERNETES",
    "NETAMINITY_SEED",
  ];
  const found = [...texts].flatMap(([file, text]) =>
    [...text.matchAll(/\bNETAMINITY_[A-Z_]*[A-Z]/g)].map(([name]) => `${file}: ${name}`),
  );
  expect(found.length).toBeGreaterThan(10);
  expect(found.filter((each) => !known.includes(each.split(": ")[1] ?? ""))).toEqual([]);
});
