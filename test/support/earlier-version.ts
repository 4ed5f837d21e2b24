import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { $ } from "bun";

const root = resolve(import.meta.dir, "../..");

/**
 * Builds an earlier version from the archive of its sources in `test/fixtures`, once for each content of the archive: history may be absent where tests
 * run. Its folder, with the sources and the executable `netaminity`.
 */
export async function builtFrom(name: string): Promise<string> {
  const sources = join(root, "test/fixtures", `${name}.tar.gz`);
  const hash = new Bun.CryptoHasher("sha256")
    .update(await Bun.file(sources).bytes())
    .digest("hex")
    .slice(0, 16);
  const kept = join(root, ".cache", `${name}-${hash}`);
  const executable = join(kept, "netaminity");
  if (existsSync(executable)) return kept;
  await mkdir(join(root, ".cache"), { recursive: true });
  const folder = await mkdtemp(join(root, ".cache", `${name}-`));
  await $`tar -xzf ${sources} -C ${folder}`.quiet();
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await $`${process.execPath} build --compile --minify src/main.ts --outfile netaminity`.cwd(folder).quiet();
  // Another test may have been faster: then its folder stays.
  await rename(folder, kept).catch((cause) => {
    if (!existsSync(executable)) throw cause;
  });
  return kept;
}
