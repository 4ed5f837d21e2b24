/** OCI image archives of test programs, packed like the image of the product. */
import { stat } from "node:fs/promises";
import { makeImageArchive } from "../../../scripts/image-archive.ts";
import { librariesOf } from "../../../scripts/image-root.ts";
import type { TarEntry } from "../../../scripts/image-tar.ts";
import { run } from "./command.ts";

export interface ImageOptions {
  /** With registry and tag, such as `localhost/echo:1`. */
  readonly name: string;
  /** Absolute path in the image -> file on this machine. Modes are kept. */
  readonly files: Readonly<Record<string, string>>;
  /** Absolute path of the program in the image. It runs as root. */
  readonly entrypoint: string;
}

/** Writes the archive (one layer, this machine's architecture) to `file`. */
export async function writeImage(file: string, { name, files, entrypoint }: ImageOptions): Promise<void> {
  const entries = await Promise.all(Object.entries(files).map(([path, source]) => entryOf(path, source)));
  const pieces = makeImageArchive(entries, {
    name,
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    version: "dev",
    entrypoint,
    userId: 0,
    created: 0,
  });
  await Bun.write(file, new Blob(pieces.map((piece) => new Uint8Array(piece))));
}

async function entryOf(path: string, source: string): Promise<TarEntry> {
  const [{ mode }, content] = await Promise.all([stat(source), Bun.file(source).bytes()]);
  return { path: path.slice(1), mode: mode & 0o777, content };
}

/**
 * A program with the shared libraries that `ldd` names for it, as a `files` value: `{ "/app/echo": "/tmp/echo", ... }`.
 * A static program comes back alone.
 */
export async function withLibraries(path: string, program: string): Promise<Record<string, string>> {
  const listed = await run(["ldd", program]).catch(() => "");
  return Object.fromEntries([[path, program], ...librariesOf(program, listed).map((library) => [library, library])]);
}
