/** A tar archive made of parts whose every byte follows from the input: equal input, equal archive, on any machine. */

export interface TarEntry {
  /** Path inside the archive, without a leading slash; a folder ends in a slash. */
  path: string;
  /** Permission bits, for example 0o755. */
  mode: number;
  /** Absent for a folder. */
  content?: Uint8Array;
}

const blockBytes = 512;

/** A path that does not fit the 100 bytes that this writer uses of the ustar header. */
export class TarPathError extends Error {
  constructor(path: string) {
    super(`archive path "${path}" is longer than 100 bytes`);
    this.name = "TarPathError";
  }
}

/**
 * A POSIX ustar archive (IEEE 1003.1, "pax", ustar interchange format) in the given order, owned by root, all times at `modified`.
 * @param modified seconds since the epoch
 * @throws TarPathError
 */
export function makeTar(entries: readonly TarEntry[], modified: number): Uint8Array[] {
  const parts = entries.flatMap((entry) => {
    const content = entry.content ?? new Uint8Array(0);
    const padding = new Uint8Array((blockBytes - (content.length % blockBytes)) % blockBytes);
    return [header(entry, content.length, modified), content, padding];
  });
  return [...parts, new Uint8Array(2 * blockBytes)];
}

function header(entry: TarEntry, size: number, modified: number): Uint8Array {
  const path = new TextEncoder().encode(entry.path);
  if (path.length > 100) throw new TarPathError(entry.path);
  const block = new Uint8Array(blockBytes);
  block.set(path, 0);
  write(block, 100, octal(entry.mode, 7));
  write(block, 108, octal(0, 7)); // owner: root
  write(block, 116, octal(0, 7)); // group: root
  write(block, 124, octal(size, 11));
  write(block, 136, octal(modified, 11));
  write(block, 148, " ".repeat(8)); // the checksum counts its own field as spaces
  write(block, 156, entry.content ? "0" : "5");
  write(block, 257, "ustar\u000000");
  const sum = block.reduce((total, byte) => total + byte, 0);
  write(block, 148, `${octal(sum, 6)}\u0000 `);
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

function write(block: Uint8Array, offset: number, text: string): void {
  block.set(new TextEncoder().encode(text), offset);
}
