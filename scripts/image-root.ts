/**
 * The file system of the image: the executable, the two programs of the role node, the libraries that they load, and who it runs as. Nothing
 * else.
 */

import { realpath } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { TarEntry } from "./image-tar.ts";

/** Where the executable lies in the image; its folder is the image's PATH. */
export const executablePath = "/usr/local/bin/netaminity";
/** User and group of the process, also in image-etc/: the number that "nonroot" images commonly use. */
export const userId = 65532;

/**
 * Before glibc 2.34 (2021) name resolution lay in these and was loaded at the first look-up, so that `ldd` does not list
 * them (glibc NEWS 2.34). With a newer glibc they are absent or empty shells, and cost nothing.
 */
const lateLoaded = ["libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"];

export class MissingLibraryError extends Error {
  constructor(binary: string, line: string) {
    super(`${binary} needs a library that this machine does not have: ${line.trim()}`);
    this.name = "MissingLibraryError";
  }
}

/**
 * Absolute paths of the loader and libraries in what `ldd` printed, sorted.
 * @throws MissingLibraryError when one of them was not found
 */
export function librariesOf(binary: string, lddOutput: string): string[] {
  const paths = lddOutput.split("\n").flatMap((line) => {
    if (line.includes("not found")) throw new MissingLibraryError(binary, line);
    const found = /(?:^|=>)\s*(\/\S+)\s+\(0x/.exec(line);
    return found?.[1] ? [found[1]] : [];
  });
  return [...new Set(paths)].sort();
}

/** `/etc` as the process sees it. Host names come from `/etc/hosts` first: glibc without nsswitch.conf asks the network first. */
const accounts = ["group", "nsswitch.conf", "passwd", "protocols"];

/** Programs that the role node runs, by the names it runs them by; their folder in the image is that of the executable. */
const nodePrograms = ["conntrack", "nft"];

export class MissingProgramError extends Error {
  constructor(name: string) {
    super(`${name} is not on this machine, and the image carries it: run scripts/setup node`);
    this.name = "MissingProgramError";
  }
}

/** Their paths on this machine. Throws MissingProgramError. */
function nodeProgramPaths(): string[] {
  return nodePrograms.map((name) => {
    const path = Bun.which(name, { PATH: `${process.env.PATH}:/usr/sbin:/sbin` });
    if (path === null) throw new MissingProgramError(name);
    return path;
  });
}

/**
 * Entries of the one layer, sorted by path. No CA bundle: the API server's CA is mounted beside the token, and Bun carries
 * the public roots itself. No /tmp: the root file system is read-only and nothing is written.
 */
export async function rootEntries(binary: string): Promise<TarEntry[]> {
  const files = new Map<string, TarEntry>();
  const add = (path: string, mode: number, content: Uint8Array) => files.set(path, { path, mode, content });
  for (const name of accounts)
    add(`etc/${name}`, 0o644, await Bun.file(`${import.meta.dir}/image-etc/${name}`).bytes());
  add(executablePath.slice(1), 0o755, await Bun.file(binary).bytes());
  const programs = nodeProgramPaths();
  for (const program of programs) {
    add(
      `${dirname(executablePath).slice(1)}/${basename(program)}`,
      0o755,
      await Bun.file(await realpath(program)).bytes(),
    );
  }
  const libraries = await Promise.all([binary, ...programs].map(loadedFiles));
  for (const library of new Set(libraries.flat())) {
    // The path as the loader asks for it, with the content that a chain of links leads to.
    add(library.slice(1), 0o755, await Bun.file(await realpath(library)).bytes());
  }
  const folders = new Set([...files.keys()].flatMap(parents));
  const all = [...files.values(), ...[...folders].map((path): TarEntry => ({ path, mode: 0o755 }))];
  return all.sort((left, right) => (left.path < right.path ? -1 : 1));
}

async function loadedFiles(binary: string): Promise<string[]> {
  const listed = librariesOf(binary, await Bun.$`ldd ${binary}`.env({ ...process.env, LC_ALL: "C" }).text());
  const libc = listed.find((path) => path.endsWith("/libc.so.6"));
  const late = libc ? lateLoaded.map((name) => `${dirname(libc)}/${name}`) : [];
  const present = await Promise.all(late.map(async (path) => ((await Bun.file(path).exists()) ? [path] : [])));
  return [...new Set([...listed, ...present.flat()])].sort();
}

function parents(path: string): string[] {
  const steps = path.split("/").slice(0, -1);
  return steps.map((_, index) => `${steps.slice(0, index + 1).join("/")}/`);
}
