import { dlopen, FFIType } from "bun:ffi";

/**
 * The few calls of the system's library for which Bun has no words; undefined where it cannot be loaded (no glibc, not Linux): what uses
 * them is an improvement, never a need. Descriptors and lengths are C ints and size_t.
 */
export const libc = load();

function load() {
  if (process.platform !== "linux") return undefined;
  try {
    const { i32, u32, u64, i64_fast, ptr } = FFIType;
    return dlopen("libc.so.6", {
      socket: { args: [i32, i32, i32], returns: i32 },
      connect: { args: [i32, ptr, u32], returns: i32 },
      close: { args: [i32], returns: i32 },
      __errno_location: { args: [], returns: ptr },
      setsockopt: { args: [i32, i32, i32, ptr, u32], returns: i32 },
      getsockopt: { args: [i32, i32, i32, ptr, ptr], returns: i32 },
      ioctl: { args: [i32, u64, ptr], returns: i32 },
      fcntl: { args: [i32, i32, i32], returns: i32 },
      pipe2: { args: [ptr, i32], returns: i32 },
      splice: { args: [i32, ptr, i32, ptr, u64, u32], returns: i64_fast },
      read: { args: [i32, ptr, u64], returns: i64_fast },
    }).symbols;
  } catch {
    return undefined;
  }
}
