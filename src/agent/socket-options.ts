import { dlopen, FFIType, type Pointer, ptr } from "bun:ffi";

/** Numbers of Linux on amd64 and arm64 (asm-generic/socket.h). */
const SOL_SOCKET = 1;
const SO_LINGER = 13;

/** struct linger { int l_onoff; int l_linger; }: on with a time of 0 makes every close a reset. */
const resetOnClose = new Int32Array([1, 0]);
const finOnClose = new Int32Array([0, 0]);

type SetSockOpt = (fd: number, level: number, name: number, value: Pointer, length: number) => number;

const setsockopt = loadSetsockopt();

/**
 * Chooses what the kernel sends when the socket is closed without a shutdown, above all when this process dies: RST instead of FIN.
 * Without it the crash of a proxy would end every stream like an orderly end, and a cut answer would look complete.
 * Bun has no such option; where the system's library cannot be called, nothing changes.
 */
export function setResetOnClose(fd: number, wanted: "reset" | "fin"): void {
  const value = wanted === "reset" ? resetOnClose : finOnClose;
  setsockopt?.(fd, SOL_SOCKET, SO_LINGER, ptr(value), value.byteLength);
}

function loadSetsockopt(): SetSockOpt | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const { symbols } = dlopen("libc.so.6", {
      setsockopt: { args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
    });
    return symbols.setsockopt as SetSockOpt;
  } catch {
    return undefined;
  }
}
