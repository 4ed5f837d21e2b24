import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { $ } from "bun";

const root = resolve(import.meta.dir, "../..");
/** Sources of the last version without frames: what peers run that know the first revision of the extension only. */
const sources = join(import.meta.dir, "../fixtures/revision-1.tar.gz");

/** The executable made from them, built once for each content of the archive. */
export async function executableOfRevision1(): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256")
    .update(await Bun.file(sources).bytes())
    .digest("hex")
    .slice(0, 16);
  const kept = join(root, ".cache", `revision-1-${hash}`);
  const executable = join(kept, "netaminity");
  if (existsSync(executable)) return executable;
  await mkdir(join(root, ".cache"), { recursive: true });
  const folder = await mkdtemp(join(root, ".cache", "revision-1-"));
  await $`tar -xzf ${sources} -C ${folder}`.quiet();
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await $`${process.execPath} build --compile --minify src/main.ts --outfile netaminity`.cwd(folder).quiet();
  // Another test may have been faster: then its folder stays.
  await rename(folder, kept).catch((cause) => {
    if (!existsSync(executable)) throw cause;
  });
  return executable;
}
