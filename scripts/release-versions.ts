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
export function checkVersion(text: string): string {
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
  /** A file of documentation may repeat the version any number of times, also never. */
  optional?: boolean;
}

const anyVersion = String.raw`(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]*[0-9A-Za-z])?)`;
const documents = ["README.md", "docs/INTERNAL.md", "chart/README.md"];

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
  ...documents.flatMap((file): Place[] => [
    {
      file,
      what: "image",
      pattern: new RegExp(`(ghcr\\.io/exeteres/netaminity:)${anyVersion}()`, "g"),
      optional: true,
    },
    {
      file,
      what: "chart",
      pattern: new RegExp(`(charts/netaminity(?::| [^\n]*?--version ))${anyVersion}()`, "g"),
      optional: true,
    },
    { file, what: "--version", pattern: new RegExp(`(^\\s*--version )${anyVersion}()`, "gm"), optional: true },
    { file, what: "download", pattern: new RegExp(`(releases/download/v)${anyVersion}()`, "g"), optional: true },
  ]),
];

/**
 * Writes the version into every place below `root`, and into the changelog's heading of what was unreleased.
 * @throws VersionError when a place is missing
 */
export async function setVersion(root: string, version: string, date: string): Promise<void> {
  checkVersion(version);
  for (const file of new Set(places.map((place) => place.file))) {
    const path = join(root, file);
    const ofFile = places.filter((place) => place.file === file);
    if (!(await Bun.file(path).exists())) {
      if (ofFile.every(({ optional }) => optional)) continue;
      throw new VersionError(`${file} does not exist`);
    }
    let text = await Bun.file(path).text();
    for (const { what, pattern, optional } of ofFile) {
      if (!optional && !pattern.test(text)) throw new VersionError(`${file} has no ${what}`);
      text = text.replace(pattern, (_all, before: string, _old: string, after: string) => before + version + after);
    }
    await Bun.write(path, text);
  }
  const changelog = Bun.file(join(root, "CHANGELOG.md"));
  if (!(await changelog.exists())) return;
  const text = await changelog.text();
  if (text.includes(`## ${version} `)) return;
  await Bun.write(changelog, text.replace(/^## Unreleased$/m, `## Unreleased\n\n## ${version} - ${date}`));
}

/**
 * Compares a tag `vVERSION` with every place that must carry the version.
 * @throws VersionError naming each place that differs
 */
export async function checkTag(root: string, tag: string): Promise<string> {
  if (!tag.startsWith("v")) throw new VersionError(`tag "${tag}" is not of the form vVERSION`);
  const version = checkVersion(tag.slice(1));
  const found = await Promise.all(
    places
      .filter(({ optional }) => !optional)
      .map(async ({ file, what, pattern }) => {
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
