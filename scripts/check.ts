#!/usr/bin/env bun
/**
 * The quick checks, for every commit: types, format and lint, and the rules of the repository (generated files among them).
 * `npm run check`, or `bun scripts/check.ts --static` without the last. Prints what failed and the command that helps.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";

const root = join(import.meta.dir, "..");
const { values } = parseArgs({ options: { static: { type: "boolean", default: false } } });

interface Check {
  name: string;
  command: readonly string[];
  /** What a developer does about a failure. */
  remedy: string;
}

const checks: readonly Check[] = [
  {
    name: "types",
    command: ["node_modules/.bin/tsc", "--noEmit", "-p", "."],
    remedy: "correct the types; again: npx tsc --noEmit -p .",
  },
  {
    name: "types of the dashboard's page",
    command: ["node_modules/.bin/tsc", "--noEmit", "-p", "src/dashboard/page"],
    remedy: "correct the types; again: npx tsc --noEmit -p src/dashboard/page",
  },
  {
    name: "format and lint",
    command: ["node_modules/.bin/biome", "ci", "--error-on-warnings", "--colors=off"],
    remedy: "npx biome check --write",
  },
];
const repositoryRules: Check = {
  name: "repository rules",
  command: [process.execPath, "test", "./test/repo"],
  remedy: "see the failed rule; generated files: npm run generate",
};

const started = performance.now();
const results = await Promise.all((values.static ? checks : [...checks, repositoryRules]).map(run));
const failed = results.filter((passed) => !passed).length;
console.log(`check: ${results.length - failed} passed, ${failed} failed in ${seconds(started)}`);
process.exitCode = failed === 0 ? 0 : 1;

async function run({ name, command, remedy }: Check): Promise<boolean> {
  const begun = performance.now();
  const child = Bun.spawn([...command], { cwd: root, stdout: "pipe", stderr: "pipe", timeout: 120_000 });
  const [out, error, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code === 0) {
    console.log(`check: ${name} passed in ${seconds(begun)}`);
    return true;
  }
  console.log(`${out}${error}`.trimEnd());
  console.log(`check: ${name} FAILED in ${seconds(begun)}; remedy: ${remedy}`);
  return false;
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
