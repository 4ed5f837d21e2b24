import { ptr } from "bun:ffi";
import { libc } from "./libc.ts";

const FIONREAD = 0x541b;
const F_SETPIPE_SZ = 1031;
const O_NONBLOCK_CLOEXEC = 0o2004000;
const SPLICE_F_MOVE_NONBLOCK = 3;

/** Bytes in one move at most: the largest pipe that everybody may have. */
const most = 1024 * 1024;

type Libc = NonNullable<typeof libc>;

interface KernelPipe {
  out: number;
  in: number;
}

export interface Move {
  /** Bytes taken from the source. */
  taken: number;
  /** Those of them that the sink did not take. */
  left: Uint8Array | undefined;
}

/** One pipe serves all streams: it is empty between two moves. */
let shared: KernelPipe | undefined;

/** Undefined where the system's library is not there, and while descriptors are short. */
function openPipe(): KernelPipe | undefined {
  const ends = new Int32Array(2);
  if (libc === undefined || libc.pipe2(ptr(ends), O_NONBLOCK_CLOEXEC) !== 0) return undefined;
  const [out = -1, into = -1] = ends;
  libc.fcntl(into, F_SETPIPE_SZ, most);
  return { out, in: into };
}

/** Whether bytes can move inside the kernel here. */
export function canSplice(): boolean {
  shared ??= openPipe();
  return shared !== undefined;
}

const count = new Int32Array(1);

/** Bytes that wait in the receive buffer of the socket `fd`; 0 when the kernel does not say. */
export function bytesWaiting(fd: number): number {
  return libc?.ioctl(fd, FIONREAD, ptr(count)) === 0 ? (count[0] ?? 0) : 0;
}

/**
 * Moves up to `wanted` bytes from one socket to another without a copy (splice(2) through a pipe). Only for a source that has bytes: an error of an empty
 * one would be used up. Nothing is taken at urgent data, which an ordinary read gets. An error of the sink leaves bytes over, and an ordinary write
 * of them fails too. Throws when bytes were lost in the pipe, which no working kernel does.
 */
export function splice(from: number, to: number, wanted: number): Move {
  shared ??= openPipe();
  if (shared === undefined || libc === undefined) return { taken: 0, left: undefined };
  const pipe = shared;
  // Until the move has ended well the pipe is nobody's: bytes of one stream must never reach another.
  shared = undefined;
  try {
    const move = moveThrough(pipe, libc, from, to, Math.min(most, wanted));
    shared = pipe;
    return move;
  } finally {
    if (shared === undefined) for (const end of [pipe.in, pipe.out]) libc.close(end);
  }
}

function moveThrough({ in: into, out }: KernelPipe, calls: Libc, from: number, to: number, wanted: number): Move {
  const taken = Number(calls.splice(from, null, into, null, wanted, SPLICE_F_MOVE_NONBLOCK));
  if (taken <= 0) return { taken: 0, left: undefined };
  for (let given = 0; given < taken; ) {
    const part = Number(calls.splice(out, null, to, null, taken - given, SPLICE_F_MOVE_NONBLOCK));
    if (part <= 0) return { taken, left: readAll(out, calls, taken - given) };
    given += part;
  }
  return { taken, left: undefined };
}

/** Empties the pipe of its `length` bytes. */
function readAll(out: number, calls: Libc, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const read = Number(calls.read(out, ptr(bytes, at), length - at));
    if (read <= 0) throw new Error(`${length - at} bytes are missing in the pipe`);
    at += read;
  }
  return bytes;
}

/** Reads up to `wanted` bytes of a socket that has some; none when it fails. */
export function take(fd: number, wanted: number): Uint8Array {
  const bytes = new Uint8Array(wanted);
  const read = Number(libc?.read(fd, ptr(bytes), wanted) ?? 0);
  return bytes.subarray(0, Math.max(0, read));
}
