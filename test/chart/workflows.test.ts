import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseDocument } from "yaml";
import packageFile from "../../package.json" with { type: "json" };
import { repository } from "./helm.ts";

setDefaultTimeout(60_000);

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
}

interface Job {
  "runs-on"?: string;
  "timeout-minutes"?: number;
  uses?: string;
  needs?: string | string[];
  permissions?: Record<string, string>;
  steps?: Step[];
}

interface Workflow {
  name: string;
  on: Record<string, unknown>;
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

const folder = join(repository, ".github");
const files = (await Array.fromAsync(new Bun.Glob("**/*.yml").scan({ cwd: folder }))).sort();

async function read<T>(file: string): Promise<T> {
  const document = parseDocument(await Bun.file(join(folder, file)).text(), { strict: true, uniqueKeys: true });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) throw problem;
  return document.toJS();
}

const workflowFiles = files.filter((file) => file.startsWith("workflows/"));
const needsOf = ({ needs = [] }: Job) => (typeof needs === "string" ? [needs] : needs);
const stepsOf = (workflow: Workflow) => Object.values(workflow.jobs).flatMap(({ steps = [] }) => steps);

describe("files for GitHub", () => {
  test("are YAML without errors or warnings", async () => {
    expect(files).toEqual([
      "ISSUE_TEMPLATE/config.yml",
      "ISSUE_TEMPLATE/fault.yml",
      "ISSUE_TEMPLATE/wish.yml",
      "dependabot.yml",
      "workflows/ci.yml",
      "workflows/release.yml",
      "workflows/test.yml",
    ]);
    for (const file of files) expect(typeof (await read(file))).toBe("object");
  });

  test("of dependabot point at folders that exist", async () => {
    interface Update {
      directory?: string;
      directories?: string[];
    }
    const { updates } = await read<{ updates: Update[] }>("dependabot.yml");
    const folders = updates.flatMap(({ directory, directories = [] }) => [
      ...(directory ? [directory] : []),
      ...directories,
    ]);
    const missing = folders.filter((path) => !existsSync(join(repository, path.replace(/\*$/, ""))));
    expect(missing).toEqual([]);
  });
});

describe.each(workflowFiles)("%s", (file) => {
  test("may read by default and no more; what a job may beyond that stands at the job", async () => {
    const { permissions } = await read<Workflow>(file);
    expect(permissions).toEqual({ contents: "read" });
  });

  test("bounds every job in time and needs only jobs that exist", async () => {
    const { jobs } = await read<Workflow>(file);
    for (const [name, job] of Object.entries(jobs)) {
      if (job.uses === undefined) expect([name, typeof job["timeout-minutes"]]).toEqual([name, "number"]);
      expect(needsOf(job).filter((other) => jobs[other] === undefined)).toEqual([]);
    }
  });

  test("names the digest of every action, with its version beside it, and workflows of this repository that exist", async () => {
    const workflow = await read<Workflow>(file);
    const actions = stepsOf(workflow).flatMap(({ uses }) => (uses ? [uses] : []));
    // A tag can be moved to other code; a digest cannot. The comment is what dependabot and people read.
    const pinned = /^\s*(?:- )?uses: ([\w.-]+\/[\w./-]+@[0-9a-f]{40}) # v\d+\.\d+\.\d+$/gm;
    const text = await Bun.file(join(folder, file)).text();
    expect([...text.matchAll(pinned)].map(([, uses]) => uses)).toEqual(actions);
    const called = Object.values(workflow.jobs).flatMap(({ uses }) => (uses ? [uses] : []));
    expect(called.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
  });

  test("runs only scripts that exist, and takes nothing from an expression into a shell", async () => {
    const commands = stepsOf(await read<Workflow>(file)).flatMap(({ run }) => (run ? [run] : []));
    const scripts = commands.flatMap((run) => run.match(/\bscripts\/[\w./-]+/g) ?? []);
    expect(scripts.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
    const tasks = commands.flatMap((run) => [...run.matchAll(/npm run (\w+)/g)].map(([, task]) => task ?? ""));
    expect(tasks.filter((task) => !(task in packageFile.scripts))).toEqual([]);
    // An expression in a command is pasted before the shell reads it: a branch or a tag name could be a command.
    expect(commands.filter((run) => run.includes("${{"))).toEqual([]);
  });
});

describe("a release", () => {
  test("publishes only what was compared with the tag, checked and tested, in this order", async () => {
    const { jobs, on } = await read<Workflow>("workflows/release.yml");
    expect(on).toEqual({ push: { tags: ["v*"] } });
    expect(Object.fromEntries(Object.entries(jobs).map(([name, job]) => [name, needsOf(job)]))).toEqual({
      verify: [],
      test: ["verify"],
      image: ["verify", "test"],
      chart: ["verify", "image"],
      executables: ["verify", "chart"],
    });
    const commands = (jobs.verify?.steps ?? []).flatMap(({ run }) => (run ? [run] : []));
    expect(commands).toEqual(expect.arrayContaining(['scripts/verify-tag "$GITHUB_REF_NAME"', "npm run check"]));
    const mayWrite = Object.entries(jobs).filter(([, { permissions = {} }]) =>
      Object.values(permissions).includes("write"),
    );
    expect(mayWrite.map(([name]) => name)).toEqual(["image", "chart", "executables"]);
  });

  test("makes the image for both architectures, with provenance and a list of its parts", async () => {
    const { jobs } = await read<Workflow>("workflows/release.yml");
    const build = (jobs.image?.steps ?? []).find(({ uses }) => uses?.startsWith("docker/build-push-action@"));
    expect(build?.with).toMatchObject({
      file: "Containerfile",
      platforms: "linux/amd64,linux/arm64",
      push: true,
      provenance: "mode=max",
      sbom: true,
    });
  });
});

describe("the Containerfile", () => {
  test("copies whatever the sources import", async () => {
    const text = await Bun.file(join(repository, "Containerfile")).text();
    const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = ""]) => paths.split(" "));
    const transpiler = new Bun.Transpiler({ loader: "ts" });
    const imported = new Set<string>();
    for await (const file of new Bun.Glob("src/**/*.ts").scan({ cwd: repository })) {
      const imports = transpiler.scanImports(await Bun.file(join(repository, file)).text());
      for (const { path } of imports) if (path.startsWith(".")) imported.add(join(dirname(file), path));
    }
    expect(imported).toContain("package.json");
    // What lies in dist is made by the build itself.
    const missing = [...imported].filter(
      (path) => !path.startsWith("dist/") && !copied.some((from) => path === from || path.startsWith(`${from}/`)),
    );
    expect(missing).toEqual([]);
  });

  test("shows scanners the packages of the product and Bun, and not what only developers need", async () => {
    const text = await Bun.file(join(repository, "Containerfile")).text();
    const [, build = ""] = text.split(/^ARG BUILDKIT_SBOM_SCAN_STAGE=true$/m);
    expect(build.split(/^FROM /m)[0]?.trimEnd()).toEndWith(
      [
        " && mv node_modules/bun /bun \\",
        " && npm prune --omit=dev --ignore-scripts --no-audit --no-fund --offline \\",
        " && mv /bun node_modules/bun",
      ].join("\n"),
    );
    const parts = Object.keys(packageFile.dependencies);
    expect(parts).not.toContain("@kubernetes/client-node");
    const lock = await Bun.file(join(repository, "package-lock.json")).json();
    const shown = Object.entries<{ dev?: boolean }>(lock.packages).filter(([, { dev }]) => !dev);
    expect(shown.map(([path]) => path).filter((path) => /undici|\/ws$|tar-fs|openid/.test(path))).toEqual([]);
    expect(shown.length).toBeLessThan(15);
  });

  test("copies only files that exist, runs as 65532 and starts the executable", async () => {
    const text = await Bun.file(join(repository, "Containerfile")).text();
    const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths = ""]) => paths.split(" "));
    expect(copied.length).toBeGreaterThan(5);
    expect(copied.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
    const [, last = ""] = text.split(/^FROM scratch$/m);
    expect(last).toMatch(/^USER 65532:65532$/m);
    expect(last).toMatch(/^ENTRYPOINT \["\/usr\/local\/bin\/netaminity"\]$/m);
    expect(last).not.toMatch(/^RUN /m);
  });
});
