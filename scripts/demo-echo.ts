import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { HostPort } from "../src/endpoint.ts";

/** A TCP server that sends everything back and ends when the other side does. */
export async function startEchoBackend() {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => socket.destroy());
    socket.pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { endpoint: { host: "127.0.0.1", port }, [Symbol.dispose]: () => void server.close() };
}

/** Opens a connection; how it ends is up to the caller. */
export async function openConnection({ host, port }: HostPort): Promise<Socket> {
  const socket = connect({ host, port, allowHalfOpen: true });
  await once(socket, "connect");
  return socket;
}

/** Sends all bytes, then FIN, and returns everything that comes back until the other side's FIN. */
export async function exchange(socket: Socket, bytes: Uint8Array): Promise<Uint8Array> {
  socket.end(bytes);
  const chunks: Uint8Array[] = [];
  for await (const chunk of socket) {
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks);
}

/** How a new connection ends that is sent nothing: `reset`, or `closed` after an orderly end. */
export async function endOfConnection(endpoint: HostPort): Promise<string> {
  try {
    const socket = await openConnection(endpoint);
    socket.resume();
    await once(socket, "end");
    socket.destroy();
    return "closed";
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ECONNRESET" ? "reset" : String(error);
  }
}
