/**
 * The version in every file that repeats it. As a program: `bun scripts/release-versions.ts check TAG` compares, and
 * `bun scripts/release-versions.ts set VERSION` writes.
 */

import { join } from "node:path";

/** A version that is none, or places that disagree. The message is for the user; there is nothing to retry. */
export class VersionError extends Error {
  override name = "VersionError";
}

/** Semantic Versioning 2.0.0 without build metadata, which neither image tags nor OCI chart tags can carry. */
const versionPattern =
  /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?$/;

/** @throws VersionError */
function checkVersion(text: string): string {
  if (!versionPattern.test(text) || text.length > 64) {
    throw new VersionError(
      `version "${text}" is not of the form MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-PRERELEASE (no leading v)`,
    );
  }
  return text;
}

interface Place {
  file: string;
  what: string;
  /** Matches the text before the version, the version, and the text after it. */
  pattern: RegExp;
}

const anyVersion = String.raw`(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]*[0-9A-Za-z])?)`;
/** Documents repeat the version any number of times, also never. The changelog tells of old versions and is left alone. */
const documents = ["README.md", "chart/README.md", "docs/**/*.md", "examples/**/*.{md,yaml}"];

/** References to what a release publishes: an image, a chart, a download. */
const references: readonly RegExp[] = [
  new RegExp(`(ghcr\\.io/exeteres/netaminity:)${anyVersion}()`, "g"),
  new RegExp(`(charts/netaminity(?::| [^\n]*?--version ))${anyVersion}()`, "g"),
  new RegExp(`(^\\s*--version )${anyVersion}()`, "gm"),
  new RegExp(`(releases/download/v)${anyVersion}()`, "g"),
];

const places: readonly Place[] = [
  { file: "chart/Chart.yaml", what: "version", pattern: new RegExp(`(^version: )${anyVersion}($)`, "m") },
  { file: "chart/Chart.yaml", what: "appVersion", pattern: new RegExp(`(^appVersion: )${anyVersion}($)`, "m") },
  { file: "package.json", what: "version", pattern: new RegExp(`(^  "version": ")${anyVersion}(",$)`, "m") },
  { file: "package-lock.json", what: "version", pattern: new RegExp(`(^  "version": ")${anyVersion}(",$)`, "m") },
  {
    file: "package-lock.json",
    what: "version of the root package",
    pattern: new RegExp(`(^    "": \\{\\n      "name": "netaminity",\\n      "version": ")${anyVersion}(",$)`, "m"),
  },
];

/**
 * Writes the version into every place below `root`, and into the changelog's heading of what was unreleased.
 * @throws VersionError when a place is missing
 */
async function setVersion(root: string, version: string, date: string): Promise<void> {
  checkVersion(version);
  for (const { file, what, pattern } of places) {
    const path = join(root, file);
    if (!(await Bun.file(path).exists())) throw new VersionError(`${file} does not exist`);
    const text = await Bun.file(path).text();
    if (!pattern.test(text)) throw new VersionError(`${file} has no ${what}`);
    await Bun.write(path, withVersion(text, pattern, version));
  }
  for (const glob of documents) {
    for await (const file of new Bun.Glob(glob).scan({ cwd: root })) {
      const text = await Bun.file(join(root, file)).text();
      const updated = references.reduce((before, pattern) => withVersion(before, pattern, version), text);
      if (updated !== text) await Bun.write(join(root, file), updated);
    }
  }
  const changelog = Bun.file(join(root, "CHANGELOG.md"));
  if (!(await changelog.exists())) return;
  const text = await changelog.text();
  if (text.includes(`## ${version} `)) return;
  await Bun.write(changelog, text.replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} - ${date}`));
}

function withVersion(text: string, pattern: RegExp, version: string): string {
  return text.replace(pattern, (_all, before: string, _old: string, after: string) => before + version + after);
}

/**
 * Compares a tag `vVERSION` with every place that must carry the version.
 * @throws VersionError naming each place that differs
 */
async function checkTag(root: string, tag: string): Promise<string> {
  if (!tag.startsWith("v")) throw new VersionError(`tag "${tag}" is not of the form vVERSION`);
  const version = checkVersion(tag.slice(1));
  const found = await Promise.all(
    places.map(async ({ file, what, pattern }) => {
      const value = pattern.exec(await Bun.file(join(root, file)).text())?.[2] ?? "none";
      return value === version ? [] : [`${file} has ${what} ${value}`];
    }),
  );
  const wrong = found.flat();
  if (wrong.length > 0) throw new VersionError(`tag ${tag} does not match: ${wrong.join(", ")}`);
  return version;
}

async function main([action, value]: readonly string[]): Promise<void> {
  const root = join(import.meta.dir, "..");
  if (action === "set" && value) await setVersion(root, value, new Date().toISOString().slice(0, 10));
  else if (action === "check" && value) console.log(`${value} matches ${await checkTag(root, value)} everywhere`);
  else throw new VersionError("usage: release-versions.ts set VERSION | check TAG");
}

if (import.meta.main) {
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof VersionError)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
}
