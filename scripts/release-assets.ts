#!/usr/bin/env bun
/**
 * What a release is downloaded as: `bun scripts/release-assets.ts FOLDER [TARGET]...`. One archive for each machine, their checksums, and where all are made a manifest
 * for krew and a formula for Homebrew. Equal sources give equal bytes.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import manifest from "../package.json" with { type: "json" };
import { makeTar } from "./image-tar.ts";
import { type Asset, homebrewFormula, krewManifest } from "./release-manifests.ts";
import { isTarget, programOf, type Target, targets } from "./targets.ts";

const root = join(import.meta.dir, "..");
const all = Object.keys(targets) as Target[];
const [folder, ...named] = process.argv.slice(2);
const unknown = named.find((name) => !isTarget(name));
if (folder === undefined || unknown !== undefined) {
  console.error(`usage: release-assets.ts FOLDER [TARGET]...; targets: ${all.join(", ")}`);
  process.exit(2);
}
const wanted = named.length === 0 ? all : named.filter(isTarget);
await mkdir(folder, { recursive: true });
const license = await readFile(join(root, "LICENSE"));
await build(wanted);
const assets: Asset[] = [];
for (const target of wanted) assets.push(await pack(target, folder));
const { version } = manifest;
if (wanted.length === all.length) {
  await writeFile(join(folder, "netaminity.krew.yaml"), krewManifest(version, assets));
  await writeFile(join(folder, "netaminity.rb"), homebrewFormula(version, assets));
}
await writeFile(join(folder, "SHA256SUMS"), assets.map(({ file, sha256 }) => `${sha256}  ${file}\n`).join(""));
console.log(`release-assets: ${assets.length} archives of version ${version} in ${folder}`);

async function build(some: readonly Target[]): Promise<void> {
  const flags = some.flatMap((target) => ["--target", target]);
  const command = [process.execPath, join(root, "scripts/build.ts"), ...flags];
  const code = await Bun.spawn(command, { stdio: ["ignore", "inherit", "inherit"] }).exited;
  if (code !== 0) process.exit(1);
}

async function pack(target: Target, into: string): Promise<Asset> {
  const content = await readFile(join(root, "dist", `netaminity-${target}`));
  const archive = gzipSync(
    Buffer.concat(
      makeTar(
        [
          { path: programOf(target), mode: 0o755, content },
          { path: "LICENSE", mode: 0o644, content: license },
        ],
        0,
      ),
    ),
  );
  const file = `netaminity-${target}.tar.gz`;
  await writeFile(join(into, file), archive);
  return { target, file, sha256: createHash("sha256").update(archive).digest("hex") };
}
