/**
 * Frames of a data connection: one byte type, three bytes length of what follows, big-endian. Types are below 0x20, so that a message (JSON) which
 * comes between two frames is known by its first byte.
 */
export const frameType = {
  /** Proxy: a consumer has come. */
  start: 1,
  /** Target: the backend is connected. */
  started: 2,
  /** Target: it is not, and why; ends the stream like `reset`. */
  refused: 3,
  /** Bytes of the stream. */
  data: 4,
  /** No more bytes of the stream from this side. */
  end: 5,
  /** The stream is cut; its number follows. */
  reset: 6,
  ping: 7,
  pong: 8,
  /** All that follows from this side are bytes of the stream, and FIN is its end. */
  raw: 9,
} as const;

export const headerSize = 4;
/** A first byte from which on it is none of a frame. */
export const firstOfMessage = 0x20;
/** Bytes of a frame that are no stream's. */
export const maxControl = 1024;
/** Bytes of a stream in one frame at most. */
export const maxData = 0xffffff;
const proofSize = 32;

/** What a proxy says of a consumer: the stream's number on its connection, the proof of it, and the consumer's connection (`host:port`). */
export interface StartFrame {
  stream: number;
  proof: Uint8Array;
  from: string;
  to: string;
}

export interface Refusal {
  /** The word for metrics. */
  result: string;
  /** The text for people. */
  reason: string;
}

export function putHeader(into: Uint8Array, at: number, type: number, size: number): void {
  into[at] = type;
  into[at + 1] = size >>> 16;
  into[at + 2] = size >>> 8;
  into[at + 3] = size;
}

export const sizeAt = (bytes: Uint8Array, at: number): number =>
  ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);

function makeFrame(type: number, payload: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(headerSize + payload.byteLength);
  putHeader(frame, 0, type, payload.byteLength);
  frame.set(payload, headerSize);
  return frame;
}

const bare = (type: number): Uint8Array => Uint8Array.of(type, 0, 0, 0);
export const startedFrame = bare(frameType.started);
export const endFrame = bare(frameType.end);
export const rawFrame = bare(frameType.raw);

export function numberFrame(type: number, number: number): Uint8Array {
  const frame = Buffer.allocUnsafe(headerSize + 4);
  putHeader(frame, 0, type, 4);
  frame.writeUInt32BE(number >>> 0, headerSize);
  return frame;
}

/** The number that a frame of four bytes carries; undefined when it has another length. */
export function numberIn(payload: Buffer): number | undefined {
  return payload.byteLength === 4 ? payload.readUInt32BE(0) : undefined;
}

export function startFrame({ stream, proof, from, to }: StartFrame): Uint8Array {
  const addresses = `${from}\0${to}`;
  const frame = Buffer.allocUnsafe(headerSize + 4 + proofSize + Buffer.byteLength(addresses));
  putHeader(frame, 0, frameType.start, frame.byteLength - headerSize);
  frame.writeUInt32BE(stream, headerSize);
  frame.set(proof, headerSize + 4);
  frame.write(addresses, headerSize + 4 + proofSize);
  return frame;
}

/** Undefined when it is none. */
export function startIn(bytes: Buffer): StartFrame | undefined {
  const [from, to, ...more] = bytes.toString("utf8", 4 + proofSize).split("\0");
  if (bytes.byteLength < 4 + proofSize || from === undefined || to === undefined || more.length > 0) return undefined;
  return { stream: bytes.readUInt32BE(0), proof: bytes.subarray(4, 4 + proofSize), from, to };
}

export function refusedFrame({ result, reason }: Refusal): Uint8Array {
  return makeFrame(frameType.refused, Buffer.from(`${result}\0${reason}`).subarray(0, maxControl));
}

export function refusalIn(payload: Buffer): Refusal {
  const [result = "", reason = ""] = payload.toString().split("\0");
  return { result, reason };
}
