import { createHash, createHmac } from "node:crypto";
import type { HostPort } from "../../src/endpoint.ts";
import type { TcpSocket } from "./tcp.ts";
import { connectTcp } from "./tcp-ends.ts";

/** A message of the tunnel protocol as JSON: a name, or an object with the name as its only key. */
export type Frame = string | Record<string, unknown>;

/** Complete frames at the beginning of what was received. Written from the description of the protocol, not with the program's own decoder. */
export function framesOf(bytes: Uint8Array): Frame[] {
  const parts = Buffer.from(bytes).toString().split("\0");
  return parts.slice(0, -1).map((text) => JSON.parse(text) as Frame);
}

export function encodeFrame(frame: Frame): Buffer {
  return Buffer.from(`${JSON.stringify(frame)}\0`);
}

/** A hand-made peer of a proxy or a target. */
export interface Peer extends AsyncDisposable {
  readonly socket: TcpSocket;
  say(frame: Frame): Promise<void>;
  /** The frame with that index, now or later. */
  heard(index: number): Promise<Frame>;
}

export function peerOn(socket: TcpSocket): Peer {
  return {
    socket,
    say: (frame) => socket.send(encodeFrame(frame)),
    heard: async (index) => {
      await socket.until(() => framesOf(socket.bytes()).length > index, `frame ${index} arrives`);
      const frame = framesOf(socket.bytes())[index];
      if (frame === undefined) throw new Error("unreachable: the condition above holds");
      return frame;
    },
    [Symbol.asyncDispose]: () => socket[Symbol.asyncDispose](),
  };
}

export async function connectPeer({ host, port }: HostPort): Promise<Peer> {
  return peerOn(await connectTcp(port, { host }));
}

/** The only value of a message with content. */
export function contentOf<Name extends string>(frame: Frame, name: Name): unknown {
  if (typeof frame === "string" || !(name in frame)) throw new Error(`expected ${name}, got ${JSON.stringify(frame)}`);
  return frame[name];
}

/** bore's answer to a challenge: HMAC-SHA256 of its 16 bytes with the key SHA256(secret). */
export function boreAnswer(secret: string, challenge: unknown): string {
  const bytes = Buffer.from(String(challenge).replaceAll("-", ""), "hex");
  return createHmac("sha256", createHash("sha256").update(secret).digest()).update(bytes).digest("hex");
}
