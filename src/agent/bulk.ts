import { ptr } from "bun:ffi";
import { libc } from "./libc.ts";
import { sendRoom } from "./socket-options.ts";
import type { Wire } from "./wire.ts";

/**
 * Moves the bytes of bulk transfers from socket to socket inside the kernel (splice(2) through a pipe), without the copy into a fresh
 * buffer that each of Bun's reads makes. While a transfer has much to move, Bun does not read its source at all: it gets its turn before
 * every look at the sockets.
 */
export interface BulkFlow {
  readonly source: Wire;
  readonly sink: Wire;
  /** So many bytes were taken from the source. */
  moved(bytes: number): void;
  /** These are some of them: the sink did not take them yet. */
  forward(bytes: Uint8Array): void;
}

/** Less than this is left to Bun's next read: small moves do not pay. */
const least = 16 * 1024;
/** Bytes in one move: the largest pipe that everybody may have. */
const most = 1024 * 1024;
/** Milliseconds of moves between two looks at the sockets: all that a new connection or a short message has to wait for. */
const turnTime = 4;

const FIONREAD = 0x541b;
const F_SETPIPE_SZ = 1031;
const O_NONBLOCK_CLOEXEC = 0o2004000;
const SPLICE_F_MOVE_NONBLOCK = 3;

interface KernelPipe {
  out: number;
  in: number;
}

const waiting = new Int32Array(1);
let shared: KernelPipe | "none" | undefined;

/** One pipe serves all streams: it is empty between two calls. */
function openPipe(): KernelPipe | "none" {
  const ends = new Int32Array(2);
  if (libc === undefined || libc.pipe2(ptr(ends), O_NONBLOCK_CLOEXEC) !== 0) return "none";
  const [out = -1, into = -1] = ends;
  libc.fcntl(into, F_SETPIPE_SZ, most);
  return { out, in: into };
}

const busy = new Set<BulkFlow>();

/**
 * Moves what waits in the source, if that is much and the sink takes it. True when there may be more: the source is paused then, and
 * resumed as soon as little waits.
 */
export function moveBulk(flow: BulkFlow): boolean {
  if (!move(flow)) return false;
  flow.source.pause();
  if (busy.size === 0) setImmediate(turn);
  busy.add(flow);
  return true;
}

/** The flow is over, or its wires are somebody else's. */
export function stopBulk(flow: BulkFlow): void {
  busy.delete(flow);
}

/** One move of each flow after the other, again and again while there is time: one that goes on is put last and met again. */
function turn(): void {
  const end = performance.now() + turnTime;
  for (const flow of busy) {
    busy.delete(flow);
    if (move(flow)) busy.add(flow);
    else if (flow.sink.backlog === 0) flow.source.resume();
    if (performance.now() >= end) break;
  }
  if (busy.size > 0) setImmediate(turn);
}

/**
 * One move. True when it was one and the sink took it all.
 *
 * It asks how much waits before it takes anything, so it never meets the end or the error of the source: those are Bun's to report.
 * An error of the sink leaves bytes over, and Bun's write of them meets the error again.
 */
function move(flow: BulkFlow): boolean {
  const { source, sink } = flow;
  shared ??= openPipe();
  if (shared === "none" || libc === undefined || !source.open || !sink.isClear) return false;
  const from = source.descriptor;
  const to = sink.descriptor;
  if (libc.ioctl(from, FIONREAD, ptr(waiting)) !== 0 || (waiting[0] ?? 0) < least) return false;
  // What the sink does not take has to be read out and kept: ask for little more than it has room for.
  const wanted = Math.min(most, Math.max(least, sendRoom(to)));
  const taken = Number(libc.splice(from, null, shared.in, null, wanted, SPLICE_F_MOVE_NONBLOCK));
  if (taken <= 0) return false;
  flow.moved(taken);
  let given = 0;
  while (given < taken) {
    const part = Number(libc.splice(shared.out, null, to, null, taken - given, SPLICE_F_MOVE_NONBLOCK));
    if (part <= 0) {
      flow.forward(readAll(shared, taken - given));
      return false;
    }
    given += part;
  }
  return true;
}

/** Empties the pipe of its `length` bytes. */
function readAll(pipe: KernelPipe, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const count = Number(libc?.read(pipe.out, ptr(bytes, at), length - at) ?? 0);
    // A pipe gives what is in it: anything else would mean that bytes of a stream are lost.
    if (count <= 0) throw new Error(`${length - at} bytes are missing in the pipe`);
    at += count;
  }
  return bytes;
}
