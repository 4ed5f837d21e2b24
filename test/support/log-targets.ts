import { ptr } from "bun:ffi";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { libc } from "../../src/agent/net/libc.ts";

/** Something that a program gets as its standard error, and that takes nothing any more. */
export interface StuckTarget extends Disposable {
  /** For `Bun.spawn`; waiting writes to it would wait for ever. */
  readonly descriptor: number;
  /** Makes it take lines again and returns all text that came since the last call. Absent: it never takes any again. */
  release?(): string;
}

const { O_NOCTTY, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/** asm-generic/ioctls.h */
const TIOCSPTLCK = 0x40045431;
const TIOCGPTN = 0x80045430;

/** Ctrl-S and Ctrl-Q as a terminal sends them to its line discipline. */
const stopOutput = "\u0013";
const goOn = "\u0011";

function openTerminal() {
  const master = openSync("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
  const value = new Int32Array([0]);
  libc?.ioctl(master, TIOCSPTLCK, ptr(value));
  libc?.ioctl(master, TIOCGPTN, ptr(value));
  const name = `/dev/pts/${value[0]}`;
  return { master, name, descriptor: openSync(name, O_WRONLY | O_NOCTTY) };
}

/** Writes to `name` until it takes no byte more. */
function fill(name: string): void {
  const own = openSync(name, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  const taken = (piece: string) => {
    let count = 0;
    try {
      for (;;) count += writeSync(own, piece);
    } catch {
      return count;
    }
  };
  taken("x".repeat(4096));
  // The kernel passes on what is in a terminal in its own time, which makes room once more: full is what stays full.
  for (let refusals = 0; refusals < 10; refusals = taken("x") > 0 ? 0 : refusals + 1) Bun.sleepSync(20);
  closeSync(own);
}

/** Everything that can be read without waiting. */
function readAll(descriptor: number): string {
  const piece = new Uint8Array(65_536);
  let text = "";
  try {
    for (;;) {
      const length = readSync(descriptor, piece);
      if (length === 0) return text;
      text += new TextDecoder().decode(piece.subarray(0, length));
    }
  } catch {
    return text;
  }
}

function target(descriptors: readonly number[], descriptor: number, release?: () => string): StuckTarget {
  return {
    descriptor,
    ...(release === undefined ? {} : { release }),
    [Symbol.dispose]: () => {
      for (const each of [descriptor, ...descriptors]) closeSync(each);
    },
  };
}

/** A FIFO of which this process has the reading end, and a name under which it can be opened. */
function openPipe() {
  const folder = mkdtempSync(join(tmpdir(), "netaminity-log-"));
  const name = join(folder, "pipe");
  if (!Bun.spawnSync(["mkfifo", name]).success) throw new Error("mkfifo failed");
  const reader = openSync(name, O_RDONLY | O_NONBLOCK);
  return { name, reader, descriptor: openSync(name, O_WRONLY), remove: () => rmSync(folder, { recursive: true }) };
}

export const stuckTargets: Readonly<Record<string, () => StuckTarget>> = {
  "a terminal that nobody reads": () => {
    const { master, name, descriptor } = openTerminal();
    fill(name);
    return target([master], descriptor, () => readAll(master));
  },
  "a terminal stopped with Ctrl-S": () => {
    const { master, descriptor } = openTerminal();
    writeSync(master, stopOutput);
    return target([master], descriptor, () => {
      writeSync(master, goOn);
      return readAll(master);
    });
  },
  "a pipe that nobody reads": () => {
    const { name, reader, descriptor, remove } = openPipe();
    fill(name);
    remove();
    return target([reader], descriptor, () => readAll(reader));
  },
  "a pipe whose reader has left": () => {
    const { reader, descriptor, remove } = openPipe();
    closeSync(reader);
    remove();
    return target([], descriptor);
  },
  "a disk that is full": () => target([], openSync("/dev/full", O_WRONLY)),
};
