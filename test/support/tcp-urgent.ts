import { dlopen, FFIType, ptr } from "bun:ffi";
import type { TcpSocket } from "./tcp.ts";
import { eventually } from "./tcp-wait.ts";

const { i32, u32, u64, i64_fast, ptr: pointer } = FFIType;

const libc = dlopen("libc.so.6", {
  send: { args: [i32, pointer, u64, i32], returns: i64_fast },
  setsockopt: { args: [i32, i32, i32, pointer, u32], returns: i32 },
}).symbols;

/** Numbers of Linux (asm-generic/socket.h, linux/socket.h). */
const SOL_SOCKET = 1;
const SO_OOBINLINE = 10;
const MSG_OOB = 1;
const MSG_DONTWAIT = 0x40;

/** Makes ordinary reads of this socket return urgent bytes in their place, which is not what a socket does by default. */
export function readUrgentInline({ descriptor }: TcpSocket): void {
  const on = new Int32Array([1]);
  const result = libc.setsockopt(descriptor, SOL_SOCKET, SO_OOBINLINE, ptr(on), on.byteLength);
  if (result !== 0) throw new Error("SO_OOBINLINE was refused");
}

/** Sends bytes of which the last one is urgent, behind everything that the kernel has taken so far. */
export async function sendUrgent(socket: TcpSocket, bytes: Uint8Array): Promise<void> {
  if (socket.unsent > 0) throw new Error("bytes are queued that would come after the urgent one");
  let sent = 0;
  await eventually(
    () => {
      const rest = bytes.subarray(sent);
      // The kernel marks the last byte that it took, also when it took a part.
      sent += Math.max(0, Number(libc.send(socket.descriptor, ptr(rest), rest.byteLength, MSG_OOB | MSG_DONTWAIT)));
      return sent === bytes.byteLength;
    },
    () => `the kernel takes ${bytes.byteLength} urgent bytes; it took ${sent}`,
    20_000,
  );
}
