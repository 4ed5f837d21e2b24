import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFile, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { CommandError, run } from "../support/cluster/command.ts";
import { repository } from "./helm.ts";

setDefaultTimeout(60_000);

let folder = "";
/** A committed copy of this work tree: what a release does to it is seen by nobody. */
let original = "";

/** No setting of the person who runs the tests, no hook, no signature reaches the clones. */
const environment = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_AUTHOR_NAME: "Releaser",
  GIT_AUTHOR_EMAIL: "releaser@example.org",
  GIT_COMMITTER_NAME: "Releaser",
  GIT_COMMITTER_EMAIL: "releaser@example.org",
  // Nothing here outlives the test, so nothing has to reach the disk.
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "core.fsync",
  GIT_CONFIG_VALUE_0: "none",
  RELEASE_REHEARSAL: "1",
};

const git = (at: string, ...args: string[]) => run(["git", "-C", at, ...args], { env: environment });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "netaminity-release-"));
  original = join(folder, "original");
  const listed = await run(["git", "-C", repository, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
  for (const path of listed.split("\0").filter(Boolean)) {
    const to = join(original, path);
    await mkdir(dirname(to), { recursive: true });
    // A file may be gone from the work tree and still be listed.
    if (await Bun.file(join(repository, path)).exists()) await copyFile(join(repository, path), to);
  }
  // References and notes that every later version of these files has.
  await Bun.write(
    join(original, "README.md"),
    [
      "helm install netaminity oci://ghcr.io/exeteres/charts/netaminity --version 0.0.9",
      "helm install netaminity oci://ghcr.io/exeteres/charts/netaminity \\",
      "  --version 0.0.9 \\",
      "ghcr.io/exeteres/netaminity:0.0.9",
      "curl -L https://github.com/exeteres/netaminity/releases/download/v0.0.9/netaminity-linux-x64.tar.gz",
      "bore 0.6.0 stays as it is.",
      "",
    ].join("\n"),
  );
  await Bun.write(
    join(original, "CHANGELOG.md"),
    "# Changes\n\n## Unreleased\n\n- It works.\n\n## 0.0.9 - 2026-01-01\n",
  );
  await git(folder, "init", "-q", "-b", "main", original);
  await git(original, "add", "--all");
  await git(original, "commit", "-q", "-m", "Start");
});
afterAll(() => rm(folder, { recursive: true }));

interface Clone extends AsyncDisposable {
  at: string;
  release(...args: string[]): Promise<string>;
}

/** Stands for the long steps in a clone: each writes its name down, and fails when a file asks for it. */
async function shortenSteps(at: string): Promise<void> {
  const step = (name: string) => `#!/bin/sh\necho "${name} $*" >>"$STEPS"\n[ ! -e "$STEPS.fail-${name}" ]\n`;
  for (const name of ["test", "helm"]) await Bun.write(join(at, "scripts", name), step(name));
  const packageText = await Bun.file(join(at, "package.json")).json();
  packageText.scripts.generate = 'echo generate >>"$STEPS"; echo fresh >docs/generated.md';
  packageText.scripts.check = 'echo check >>"$STEPS"';
  await Bun.write(join(at, "package.json"), `${JSON.stringify(packageText, null, 2)}\n`);
  await git(at, "commit", "-q", "--all", "-m", "Shorten");
}

async function clone(): Promise<Clone> {
  const at = await mkdtemp(join(folder, "clone-"));
  await git(folder, "clone", "-q", original, at);
  await symlink(join(repository, "node_modules"), join(at, "node_modules"));
  await git(at, "config", "core.excludesFile", join(folder, "excludes"));
  await Bun.write(join(folder, "excludes"), "/node_modules\n");
  return {
    at,
    release: (...args) => run([join(at, "scripts/release.sh"), ...args], { env: environment }),
    [Symbol.asyncDispose]: () => rm(at, { recursive: true }),
  };
}

async function refusal(attempt: Promise<string>): Promise<[code: number | null, said: string]> {
  const error = await attempt.catch((caught: unknown) => caught);
  if (error instanceof CommandError) return [error.exitCode, error.stderr];
  throw new Error(`expected a refusal, got ${error}`);
}

describe("scripts/release.sh", () => {
  test("writes the version everywhere, commits once and makes an annotated tag", async () => {
    await using copy = await clone();
    await copy.release("1.2.3-rc.1");
    const read = (path: string) => Bun.file(join(copy.at, path)).text();
    expect(parse(await read("chart/Chart.yaml"))).toMatchObject({ version: "1.2.3-rc.1", appVersion: "1.2.3-rc.1" });
    expect(JSON.parse(await read("package.json")).version).toBe("1.2.3-rc.1");
    const lock = JSON.parse(await read("package-lock.json"));
    expect([lock.version, lock.packages[""].version]).toEqual(["1.2.3-rc.1", "1.2.3-rc.1"]);
    expect(await read("README.md")).toBe(
      [
        "helm install netaminity oci://ghcr.io/exeteres/charts/netaminity --version 1.2.3-rc.1",
        "helm install netaminity oci://ghcr.io/exeteres/charts/netaminity \\",
        "  --version 1.2.3-rc.1 \\",
        "ghcr.io/exeteres/netaminity:1.2.3-rc.1",
        "curl -L https://github.com/exeteres/netaminity/releases/download/v1.2.3-rc.1/netaminity-linux-x64.tar.gz",
        "bore 0.6.0 stays as it is.",
        "",
      ].join("\n"),
    );
    expect(await read("CHANGELOG.md")).toMatch(
      /^## Unreleased\n\n## 1\.2\.3-rc\.1 - \d{4}-\d\d-\d\d\n\n- It works\.$/m,
    );
    expect(await git(copy.at, "status", "--porcelain")).toBe("");
    expect(await git(copy.at, "log", "--format=%s")).toBe("Release 1.2.3-rc.1\nStart\n");
    expect(await git(copy.at, "cat-file", "-t", "v1.2.3-rc.1")).toBe("tag\n");
    expect(await git(copy.at, "rev-parse", "v1.2.3-rc.1^{commit}")).toBe(await git(copy.at, "rev-parse", "HEAD"));
    expect(await run([join(copy.at, "scripts/verify-tag"), "v1.2.3-rc.1"])).toContain("matches 1.2.3-rc.1");
  });

  test("tags the last commit when the tree has that version already", async () => {
    await using copy = await clone();
    await copy.release("1.0.0");
    await git(copy.at, "tag", "-d", "v1.0.0");
    const before = await git(copy.at, "rev-parse", "HEAD");
    await copy.release("1.0.0");
    expect(await git(copy.at, "rev-parse", "HEAD")).toBe(before);
    expect(await git(copy.at, "rev-parse", "v1.0.0^{commit}")).toBe(before);
  });

  test("refuses a tree with changes, untracked files included, and leaves them alone", async () => {
    await using copy = await clone();
    await Bun.write(join(copy.at, "notes.txt"), "mine");
    const [code, said] = await refusal(copy.release("1.0.0"));
    expect([code, said]).toEqual([2, expect.stringContaining("the work tree has changes")]);
    expect(await git(copy.at, "status", "--porcelain")).toBe("?? notes.txt\n");
    expect(await git(copy.at, "tag")).toBe("");
  });

  test("refuses a tag that exists", async () => {
    await using copy = await clone();
    await git(copy.at, "tag", "v1.0.0");
    expect(await refusal(copy.release("1.0.0"))).toEqual([2, "release: tag v1.0.0 exists\n"]);
    expect(await git(copy.at, "log", "--format=%s")).toBe("Start\n");
  });

  test("puts the tree back when a step fails", async () => {
    await using copy = await clone();
    // A lockfile without a version: the version cannot be written everywhere.
    await Bun.write(join(copy.at, "package-lock.json"), "{}\n");
    await git(copy.at, "commit", "-q", "--all", "-m", "Break");
    const [code, said] = await refusal(copy.release("1.0.0"));
    expect([code, said]).toEqual([2, expect.stringContaining("package-lock.json has no version")]);
    expect(await git(copy.at, "status", "--porcelain")).toBe("");
    expect(await git(copy.at, "tag")).toBe("");
  });
});

describe("scripts/release.sh refuses and changes nothing, given", () => {
  let copy: Clone;
  beforeAll(async () => {
    copy = await clone();
  });

  const malformed = ["v1.0.0", "1.0", "1.0.0+build", "01.0.0", "1.0.0-", "latest", "1.0.0 "];
  const cases: [args: string[], said: string][] = [
    ...malformed.map((version): [string[], string] => [[version], `version "${version}" is not of the form`]),
    [[], "usage: scripts/release.sh [--push] VERSION"],
    [["1.0.0", "2.0.0"], "one version is accepted, got 1.0.0 and 2.0.0"],
    [["--force", "1.0.0"], "unknown option --force"],
    [["--push", "1.0.0"], "RELEASE_REHEARSAL=1 cannot be pushed"],
  ];
  for (const [args, said] of cases) {
    test(`${JSON.stringify(args)}`, async () => {
      expect(await refusal(copy.release(...args))).toEqual([2, expect.stringContaining(said)]);
      expect(await git(copy.at, "status", "--porcelain")).toBe("");
      expect(await git(copy.at, "tag")).toBe("");
    });
  }
});

describe("scripts/release.sh without RELEASE_REHEARSAL", () => {
  const validated = ["helm lint --strict chart", "helm template netaminity chart --namespace netaminity-system"];

  test("generates, checks, tests, validates the chart, and pushes the branch and the tag together", async () => {
    await using copy = await clone();
    await shortenSteps(copy.at);
    const origin = `${copy.at}-origin.git`;
    await git(folder, "clone", "-q", "--bare", copy.at, origin);
    await git(copy.at, "remote", "set-url", "origin", origin);
    const steps = `${copy.at}-steps`;
    const env = { ...environment, RELEASE_REHEARSAL: "0", STEPS: steps };
    const release = () => run([join(copy.at, "scripts/release.sh"), "--push", "1.0.0"], { env });

    await release();
    expect((await Bun.file(steps).text()).trimEnd().split("\n")).toEqual(["generate", "check", "test ", ...validated]);
    expect(await git(copy.at, "show", "HEAD:docs/generated.md")).toBe("fresh\n");
    const head = await git(copy.at, "rev-parse", "HEAD");
    expect(await git(origin, "rev-parse", "main", "v1.0.0^{commit}")).toBe(head + head);

    await git(copy.at, "tag", "-d", "v1.0.0");
    expect(await refusal(release())).toEqual([2, "release: tag v1.0.0 exists on origin\n"]);
  });

  test("makes neither a commit nor a tag when the tests fail", async () => {
    await using copy = await clone();
    await shortenSteps(copy.at);
    const steps = `${copy.at}-steps`;
    await Bun.write(`${steps}.fail-test`, "");
    const env = { ...environment, RELEASE_REHEARSAL: "0", STEPS: steps };
    const [code, said] = await refusal(run([join(copy.at, "scripts/release.sh"), "1.0.0"], { env }));
    expect([code, said]).toEqual([1, expect.stringContaining("every tracked file is as before")]);
    expect(await git(copy.at, "status", "--porcelain", "--untracked-files=no")).toBe("");
    expect(await git(copy.at, "log", "--format=%s")).toBe("Shorten\nStart\n");
    expect(await git(copy.at, "tag")).toBe("");
  });
});

describe("scripts/verify-tag", () => {
  test("names every place that differs from the tag", async () => {
    await using copy = await clone();
    const chartFile = join(copy.at, "chart/Chart.yaml");
    await copy.release("1.0.0");
    await Bun.write(chartFile, (await Bun.file(chartFile).text()).replace("appVersion: 1.0.0", "appVersion: 0.9.0"));
    expect(await refusal(run([join(copy.at, "scripts/verify-tag"), "v1.0.0"]))).toEqual([
      2,
      "tag v1.0.0 does not match: chart/Chart.yaml has appVersion 0.9.0\n",
    ]);
    expect((await refusal(run([join(copy.at, "scripts/verify-tag"), "1.0.0"])))[1]).toContain("vVERSION");
  });

  test("agrees on the versions of this work tree", async () => {
    const { version } = await Bun.file(join(repository, "package.json")).json();
    expect(await run([join(repository, "scripts/verify-tag"), `v${version}`])).toContain("everywhere");
  });
});
