#!/usr/bin/env bun
/**
 * Runs the checks and all groups of tests: `scripts/test [GROUP]...`. Each group is one `bun test` process.
 * A group that this machine cannot run is named with the reason; with CI=true that is a failure.
 * The last line is `N passed, N failed`, from what the test runner reported.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { runWithin } from "./run-within.ts";
import { type Counts, readCounts, sum } from "./test-counts.ts";

const root = join(import.meta.dir, "..");
const ci = process.env.CI === "true";

interface Group {
  name: string;
  /** Parts of scripts/setup. */
  setup: readonly string[];
  /** Needs network namespaces, cgroups and mounts of its own. */
  system: boolean;
  /** Another Kubernetes than the newest that has to be installed. */
  kubernetes?: string;
  /** A group that takes longer is stopped and counts as failed. */
  minutes: number;
}

const groups: readonly Group[] = [
  { name: "unit", setup: [], system: false, minutes: 6 },
  { name: "repo", setup: [], system: false, minutes: 2 },
  { name: "tunnel", setup: ["peers"], system: false, minutes: 15 },
  { name: "node", setup: ["node"], system: true, minutes: 6 },
  { name: "chart", setup: ["cluster"], system: true, minutes: 6 },
  { name: "cluster", setup: ["cluster"], system: true, minutes: 12 },
  { name: "oldest", setup: ["cluster"], system: true, kubernetes: "1.31", minutes: 6 },
  { name: "e2e", setup: ["cluster"], system: true, minutes: 25 },
];

const notes: string[] = [];

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !groups.some((group) => group.name === name));
  if (unknown !== undefined) {
    console.error(`test: unknown group "${unknown}"; accepted: ${groups.map(({ name }) => name).join(", ")}`);
    return 2;
  }
  const counts: Counts[] = [];
  for (const [title, script] of [
    ["build", ["scripts/build.ts"]],
    ...(names.length === 0 ? ([["check", ["scripts/check.ts", "--static"]]] as const) : []),
  ] as const) {
    counts.push(await step(title, script));
  }
  for (const group of groups) {
    if (names.length === 0 || names.includes(group.name)) {
      counts.push(await runGroup(group, names.length > 0));
    }
  }
  const total = sum(counts);
  for (const note of notes) {
    console.log(`note: ${note}`);
  }
  console.log(`${total.passed} passed, ${total.failed} failed`);
  return total.failed > 0 || total.passed === 0 ? 1 : 0;
}

/** A step that is no test counts only when it fails. */
async function step(title: string, script: readonly string[]): Promise<Counts> {
  console.log(`== ${title}`);
  const { code } = await runWithin([process.execPath, ...script], { cwd: root, minutes: 5 });
  if (code !== 0) {
    notes.push(`${title} failed`);
  }
  return { passed: 0, failed: code === 0 ? 0 : 1, skipped: 0 };
}

async function runGroup(group: Group, asked: boolean): Promise<Counts> {
  const folder = `./test/${group.name}`;
  if (!(await hasTests(folder))) {
    return asked ? refuse(group, "it has no tests") : { passed: 0, failed: 0, skipped: 0 };
  }
  const obstacle = group.system ? systemObstacle() : undefined;
  if (obstacle !== undefined) {
    return refuse(group, obstacle);
  }
  console.log(`== ${group.name}`);
  if (group.setup.length > 0) {
    const version = group.kubernetes === undefined ? [] : ["env", `NETAMINITY_KUBERNETES=${group.kubernetes}`];
    const setup = await runWithin([...version, "scripts/setup", ...group.setup], { cwd: root, minutes: 30 });
    if (setup.code !== 0) {
      return refuse(group, `scripts/setup ${group.setup.join(" ")} failed`);
    }
  }
  const started = performance.now();
  // `timeout` in bunfig.toml has no effect (Bun 1.4.5).
  const command = [process.execPath, "test", "--timeout", "60000", folder];
  const { code, tail } = await runWithin(command, { cwd: root, minutes: group.minutes });
  const counts = readCounts(tail, code);
  const seconds = Math.round((performance.now() - started) / 1000);
  notes.push(
    `${group.name}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped in ${seconds} s`,
  );
  return ci ? { ...counts, failed: counts.failed + counts.skipped } : counts;
}

function refuse({ name }: Group, reason: string): Counts {
  notes.push(`${name} ${ci ? "failed" : "was skipped"}: ${reason}`);
  return { passed: 0, failed: ci ? 1 : 0, skipped: 0 };
}

function systemObstacle(): string | undefined {
  if (process.platform !== "linux") {
    return "it needs Linux (network namespaces, containers)";
  }
  return process.getuid?.() === 0 ? undefined : "it needs root (network namespaces, containers)";
}

async function hasTests(folder: string): Promise<boolean> {
  const path = join(root, folder);
  if (!existsSync(path)) {
    return false;
  }
  const [first] = await Array.fromAsync(new Bun.Glob("**/*.test.ts").scan({ cwd: path }));
  return first !== undefined;
}

process.exitCode = await main(process.argv.slice(2));
