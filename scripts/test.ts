#!/usr/bin/env bun
/**
 * Runs the checks and all groups of tests: `scripts/test [GROUP]...`. Each group is one `bun test` process. Without arguments the tunnel's group, which keeps a
 * processor busy, runs beside those that mostly wait for a control plane.
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
  /** When it runs: beside the first ones, in turn, or after all of them because its figures suffer from others. */
  place: "first" | "beside" | "alone";
  /** A group that takes longer is stopped and counts as failed. */
  minutes: number;
}

const groups: readonly Group[] = [
  { name: "unit", place: "first", setup: [], system: false, minutes: 6 },
  { name: "repo", place: "first", setup: [], system: false, minutes: 2 },
  { name: "tunnel", place: "beside", setup: ["peers"], system: false, minutes: 20 },
  { name: "node", place: "first", setup: ["node"], system: true, minutes: 6 },
  { name: "chart", place: "first", setup: ["cluster"], system: true, minutes: 6 },
  { name: "cluster", place: "first", setup: ["cluster"], system: true, minutes: 15 },
  { name: "oldest", place: "first", setup: ["cluster"], system: true, kubernetes: "1.31", minutes: 6 },
  { name: "dashboard", place: "first", setup: ["browser"], system: true, minutes: 6 },
  { name: "machines", place: "first", setup: ["machines"], system: true, minutes: 8 },
  { name: "e2e", place: "alone", setup: ["cluster", "browser"], system: true, minutes: 25 },
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
  const isAsked = names.length > 0;
  const inTurn = async (some: readonly Group[], isHeld = false) => {
    for (const group of some) counts.push(await runGroup(group, { isAsked, isHeld }));
  };
  if (isAsked) {
    await inTurn(groups.filter(({ name }) => names.includes(name)));
  } else {
    const of = (place: Group["place"]) => groups.filter((group) => group.place === place);
    await Promise.all([inTurn(of("beside"), true), inTurn(of("first"))]);
    await inTurn(of("alone"));
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

async function runGroup(group: Group, { isAsked, isHeld }: { isAsked: boolean; isHeld: boolean }): Promise<Counts> {
  const folder = `./test/${group.name}`;
  if (!(await hasTests(folder))) {
    return isAsked ? refuse(group, "it has no tests") : { passed: 0, failed: 0, skipped: 0 };
  }
  const obstacle = group.system ? systemObstacle() : undefined;
  if (obstacle !== undefined) {
    return refuse(group, obstacle);
  }
  console.log(isHeld ? `== ${group.name} begins; its output comes when it is done` : `== ${group.name}`);
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
  const { code, tail } = await runWithin(command, { cwd: root, minutes: group.minutes, isHeld });
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
