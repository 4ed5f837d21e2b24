import { dirname, normalize } from "node:path";
import { repositoryFiles, textOf } from "./sources.ts";

/** An import of one source file by another; a package is named as it is imported. */
export interface Import {
  from: string;
  to: string;
  /** False for `import()`, which loads only when it is reached. */
  static: boolean;
  /** True when nothing of it is left at run time. */
  typeOnly: boolean;
}

const transpilers = { ts: new Bun.Transpiler({ loader: "ts" }), tsx: new Bun.Transpiler({ loader: "tsx" }) };
const typeImport = /^\s*(?:import|export) type\b[^;]*?from "([^"]+)"/gm;

/** Every import in src, by the file that holds it. */
export async function sourceImports(): Promise<Map<string, Import[]>> {
  const files = (await repositoryFiles()).filter((path) => path.startsWith("src/") && /\.tsx?$/.test(path));
  const read = files.map(async (path) => [path, importsOf(path, await textOf(path))] as const);
  return new Map(await Promise.all(read));
}

export function importsOf(from: string, text: string): Import[] {
  const values = transpilers[from.endsWith("x") ? "tsx" : "ts"]
    .scanImports(text)
    // The scanner's own guess at what markup needs; tsconfig.json of the page names preact.
    .filter(({ path }) => !/^react(\/|$)/.test(path))
    .map(({ path, kind }) => ({ from, to: resolve(from, path), static: kind !== "dynamic-import", typeOnly: false }));
  const types = [...text.matchAll(typeImport)].map(([, path = ""]) => ({
    from,
    to: resolve(from, path),
    static: true,
    typeOnly: true,
  }));
  return [...values, ...types];
}

function resolve(from: string, path: string): string {
  return path.startsWith(".") ? normalize(`${dirname(from)}/${path}`) : path;
}

/** Files and packages that are loaded together with `entry`, each with the file that imports it. */
export function loadedWith(entry: string, imports: ReadonlyMap<string, readonly Import[]>): Map<string, string> {
  const loaded = new Map([[entry, ""]]);
  const open = [entry];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    for (const { to, typeOnly, static: atOnce } of imports.get(path) ?? []) {
      if (atOnce && !typeOnly && !loaded.has(to)) {
        loaded.set(to, path);
        open.push(to);
      }
    }
  }
  return loaded;
}
