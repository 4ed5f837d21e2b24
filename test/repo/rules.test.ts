import { describe, expect, test } from "bun:test";
import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { repositoryFiles, root, textOf } from "./sources.ts";

const files = await repositoryFiles();
const texts = new Map(
  await Promise.all(
    files
      .filter((path) => !/\.(png|zst|tar|gz|ico)$/.test(path))
      .map(async (path) => [path, await textOf(path)] as const),
  ),
);
const code = [...texts].filter(([path]) => /\.tsx?$/.test(path));

const longestFile = 300;

test(`no source file has more than ${longestFile} lines`, () => {
  const long = code.filter(([, text]) => text.split("\n").length - 1 > longestFile);
  expect(long.map(([path, text]) => `${path}: ${text.split("\n").length - 1}`)).toEqual([]);
});

test("no type check and no lint rule is switched off without a reason", () => {
  const others = code.filter(([path]) => !path.startsWith("test/repo/"));
  const suspects = others.flatMap(([path, text]) =>
    text
      .split("\n")
      .filter((line) => /@ts-(ignore|nocheck|expect-error)\s*$|biome-ignore-all|biome-ignore [^:]*:\s*$/.test(line))
      .map((line) => `${path}: ${line.trim()}`),
  );
  expect(suspects).toEqual([]);
});

test("no test is skipped, or runs alone", () => {
  const suspects = code
    .filter(([path]) => path.startsWith("test/") && !path.startsWith("test/repo/"))
    .filter(([, text]) => /\b(test|describe|it)\.(skip|only|todo)\(/.test(text));
  expect(suspects.map(([path]) => path)).toEqual([]);
});

test("texts end with a newline and have no trailing spaces, tabs in TypeScript, or foreign line ends", () => {
  const wrong = [...texts].filter(
    ([path, text]) =>
      (text !== "" && !text.endsWith("\n")) || text.includes("\r\n") || (path.endsWith(".ts") && /[ \t]+$/m.test(text)),
  );
  expect(wrong.map(([path]) => path)).toEqual([]);
});

test("programs are executable, and their first line says who runs them", async () => {
  const programs = [...texts].filter(([path, text]) => /^(scripts|\.ci)\/[^.]+$/.test(path) && text.startsWith("#!"));
  expect(programs.map(([path]) => path)).toContain("scripts/test");
  const results = await Promise.all(
    programs.map(async ([path]) => {
      const executable = await access(join(root, path), constants.X_OK).then(
        () => true,
        () => false,
      );
      return executable ? [] : [path];
    }),
  );
  expect(results.flat()).toEqual([]);
});

test("versions of packages are exact, so that the lockfile and the list agree", () => {
  const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});

test("every script of package.json starts a file that is there", () => {
  const missing = Object.entries(manifest.scripts).filter(([, command]) => {
    const file = command.split(" ").find((word) => word.startsWith("scripts/"));
    return file === undefined || !files.includes(file);
  });
  expect(missing).toEqual([]);
});

describe("the repository names no", () => {
  // Written in pieces, so that this file does not name them either.
  const forbidden: Record<string, RegExp> = {
    "host of a package registry": new RegExp(
      ["registry\\.npmjs", "registry\\.yarnpkg", "static\\.crates\\.io", "proxy\\.golang", "deb\\.debian"].join("|"),
    ),
    "secret key": new RegExp(["-----BEGIN [A-Z ]*PRIVATE", "KEY-----"].join(" ")),
    "folder of one developer's machine": new RegExp(["(?<![\\w.])/work", "(main|shared)\\b"].join("/")),
    "unfinished work": new RegExp(["TO", "DO|FIX", "ME|X", "XX\\b"].join("")),
  };
  test.each(Object.entries(forbidden))("%s", (_, pattern) => {
    const found = [...texts].flatMap(([path, text]) =>
      path === "package-lock.json"
        ? []
        : text.split("\n").flatMap((line) => (pattern.test(line) ? [`${path}: ${line.trim()}`] : [])),
    );
    expect(found).toEqual([]);
  });
});

test("generated files are current", async () => {
  const child = Bun.spawn([process.execPath, "scripts/generate.ts", "--check"], {
    cwd: root,
    stdout: "pipe",
    stderr: "pipe",
    timeout: 60_000,
  });
  const [, problems, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect([problems, exitCode]).toEqual(["", 0]);
}, 60_000);
