import { dlopen, type FFIFunction, FFIType } from "bun:ffi";
import { existsSync } from "node:fs";

/** Of musl, by its whole path: a name alone that the loader does not know would be looked for in the working directory. */
const musl = `/lib/libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;

function openLibrary<Symbols extends Record<string, FFIFunction>>(symbols: Symbols) {
  return dlopen(existsSync(musl) && !isGlibc() ? musl : "libc.so.6", symbols);
}

const isGlibc = (): boolean =>
  (process.report.getReport() as { header?: { glibcVersionRuntime?: string } }).header?.glibcVersionRuntime !==
  undefined;

/** Why `libc` is undefined; set before that. */
export let libcFailure: unknown;

/**
 * The few calls of the system's library for which Bun has no words; undefined where it cannot be loaded (not Linux): what uses
 * them is an improvement, never a need. Descriptors and lengths are C ints and size_t.
 */
export const libc = load();

function load() {
  if (process.platform !== "linux") {
    libcFailure = new Error("this is not Linux");
    return undefined;
  }
  try {
    const { i32, u32, u64, i64_fast, ptr } = FFIType;
    return openLibrary({
      socket: { args: [i32, i32, i32], returns: i32 },
      connect: { args: [i32, ptr, u32], returns: i32 },
      close: { args: [i32], returns: i32 },
      __errno_location: { args: [], returns: ptr },
      setsockopt: { args: [i32, i32, i32, ptr, u32], returns: i32 },
      getsockopt: { args: [i32, i32, i32, ptr, ptr], returns: i32 },
      getpeername: { args: [i32, ptr, ptr], returns: i32 },
      getsockname: { args: [i32, ptr, ptr], returns: i32 },
      ioctl: { args: [i32, u64, ptr], returns: i32 },
      fcntl: { args: [i32, i32, i32], returns: i32 },
      pipe2: { args: [ptr, i32], returns: i32 },
      splice: { args: [i32, ptr, i32, ptr, u64, u32], returns: i64_fast },
      read: { args: [i32, ptr, u64], returns: i64_fast },
      epoll_create1: { args: [i32], returns: i32 },
      epoll_ctl: { args: [i32, i32, i32, ptr], returns: i32 },
      epoll_wait: { args: [i32, ptr, i32, i32], returns: i32 },
    }).symbols;
  } catch (cause) {
    libcFailure = cause;
    return undefined;
  }
}
