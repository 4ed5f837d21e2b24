import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const source = join(root, "src/dashboard/page");

/** Bundles the dashboard's page into dist/page, as texts that the executable takes in. Throws AggregateError when it cannot be built. */
export async function buildPage(): Promise<void> {
  const { outputs } = await Bun.build({
    entrypoints: [join(source, "main.tsx"), join(source, "style.css")],
    target: "browser",
    minify: true,
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const into = join(root, "dist/page");
  await mkdir(into, { recursive: true });
  for (const output of outputs) {
    await writeFile(join(into, output.path.endsWith(".css") ? "page.css.txt" : "page.js.txt"), await output.text());
  }
  await writeFile(join(into, "page.html.txt"), await readFile(join(source, "index.html")));
}
