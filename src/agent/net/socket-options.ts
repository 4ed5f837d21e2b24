import { ptr } from "bun:ffi";
import { libc } from "./libc.ts";

/** Numbers of Linux on amd64 and arm64 (asm-generic/socket.h, linux/tcp.h). */
const SOL_SOCKET = 1;
const SO_KEEPALIVE = 9;
const SO_OOBINLINE = 10;
const SO_LINGER = 13;
const SO_MEMINFO = 55;
const IPPROTO_TCP = 6;
const TCP_KEEPIDLE = 4;
const TCP_KEEPINTVL = 5;
const TCP_KEEPCNT = 6;

/** struct linger { int l_onoff; int l_linger; }: on with a time of 0 makes every close a reset. */
const resetOnClose = new Int32Array([1, 0]);
const finOnClose = new Int32Array([0, 0]);

const integer = new Int32Array(1);

/** Seconds of silence between proxy and target after which the kernel asks: often enough for NAT and load balancers to remember the connection. */
export const tunnelKeepAlive = 15;

function setInteger(fd: number, level: number, name: number, value: number): void {
  integer[0] = value;
  libc?.setsockopt(fd, level, name, ptr(integer), integer.byteLength);
}

/** Makes the kernel ask a peer that has been silent for `idle` seconds, and end the connection after ten unanswered probes, one a second. */
export function setKeepAlive(fd: number, idle: number): void {
  setInteger(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  setInteger(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle);
  setInteger(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  setInteger(fd, IPPROTO_TCP, TCP_KEEPCNT, 10);
}

/** Leaves urgent data (MSG_OOB) in the stream, in order. Without it the kernel takes the byte out, and an ordinary read never sees it. */
export function keepUrgentInline(fd: number): void {
  setInteger(fd, SOL_SOCKET, SO_OOBINLINE, 1);
}

/**
 * Chooses what the kernel sends when the socket is closed without a shutdown, above all when this process dies: RST instead of FIN.
 * Without it the crash of a proxy would end every stream like an orderly end, and a cut answer would look complete. False when the system
 * does not do it.
 */
export function setResetOnClose(fd: number, wanted: "reset" | "fin"): boolean {
  const value = wanted === "reset" ? resetOnClose : finOnClose;
  return libc?.setsockopt(fd, SOL_SOCKET, SO_LINGER, ptr(value), value.byteLength) === 0;
}

/** sk_meminfo of linux/sock_diag.h: nine u32, among them the size of the send buffer and how much of it is used. */
const memoryInfo = new Uint32Array(9);
const memoryInfoSize = new Uint32Array(1);
const sendBuffer = 3;
const sendQueued = 5;

export interface SendBuffer {
  /** Bytes that wait there, or have not been acknowledged yet. */
  queued: number;
  /** Bytes that it takes in addition. */
  room: number;
}

/** The socket's send buffer, whose size the kernel adapts; without any room when it does not say. */
export function sendBufferOf(fd: number): SendBuffer {
  memoryInfoSize[0] = memoryInfo.byteLength;
  if (libc?.getsockopt(fd, SOL_SOCKET, SO_MEMINFO, ptr(memoryInfo), ptr(memoryInfoSize)) !== 0) {
    return { queued: 0, room: 0 };
  }
  const queued = memoryInfo[sendQueued] ?? 0;
  return { queued, room: Math.max(0, (memoryInfo[sendBuffer] ?? 0) - queued) };
}
