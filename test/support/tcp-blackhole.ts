import { dlopen, type Pointer, ptr } from "bun:ffi";
import type { TcpSocket } from "./tcp.ts";
import { connectTcp } from "./tcp-ends.ts";

const libc = dlopen("libc.so.6", {
  socket: { args: ["i32", "i32", "i32"], returns: "i32" },
  bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
  listen: { args: ["i32", "i32"], returns: "i32" },
  getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
}).symbols;

const internet = 2;
const stream = 1;
const closeOnExec = 0o2000000;

export interface Blackhole extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
}

function mustSucceed(result: number, call: string): number {
  if (result < 0) throw new Error(`${call} failed`);
  return result;
}

/**
 * An address that never answers a SYN, as a host behind a firewall that drops: a listener that nobody accepts from and whose queue is full.
 * Only a listener without accept can do that, and Bun has none.
 */
export async function openBlackhole(): Promise<Blackhole> {
  const descriptor = mustSucceed(libc.socket(internet, stream | closeOnExec, 0), "socket");
  // struct sockaddr_in: family in host order, port 0, then 127.0.0.1.
  const address = new Uint8Array([internet, 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  const length = new Uint32Array([address.byteLength]);
  const pointer = ptr(address) as Pointer;
  mustSucceed(libc.bind(descriptor, pointer, address.byteLength), "bind");
  mustSucceed(libc.listen(descriptor, 0), "listen");
  mustSucceed(libc.getsockname(descriptor, pointer, ptr(length)), "getsockname");
  const port = ((address[2] ?? 0) << 8) | (address[3] ?? 0);
  // A backlog of 0 holds one connection; the next SYN is dropped.
  const filler: TcpSocket = await connectTcp(port);
  return {
    host: "127.0.0.1",
    port,
    [Symbol.asyncDispose]: async () => {
      await filler[Symbol.asyncDispose]();
      libc.close(descriptor);
    },
  };
}
