import { join } from "node:path";

export const root = join(import.meta.dir, "../..");

/** Paths, from the root, of all files that git knows or would take, sorted. */
export async function repositoryFiles(): Promise<string[]> {
  const child = Bun.spawn(["git", "ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    stdout: "pipe",
    stderr: "inherit",
    timeout: 30_000,
  });
  const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  if (code !== 0) {
    throw new Error("git ls-files failed");
  }
  const paths = [...new Set(text.split("\n"))].filter((path) => path !== "").sort();
  const there = await Promise.all(paths.map((path) => Bun.file(join(root, path)).exists()));
  return paths.filter((_, index) => there[index]);
}

export async function textOf(path: string): Promise<string> {
  return await Bun.file(join(root, path)).text();
}
