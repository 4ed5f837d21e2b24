import { firstOfMessage, frameType, headerSize, maxControl, sizeAt } from "./frames.ts";
import { decode, type Message, maxMessage, ProtocolError } from "./messages.ts";

const none = Buffer.alloc(0);

/** Bun reads into Buffers. Looking at the memory behind one (`buffer`) makes it a slower kind of array, so that is done for others only. */
const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** What comes over a data connection, in its order. */
export interface FrameHandler {
  /** All that follows are bytes of the stream, without frames. */
  readonly isRaw: boolean;
  /** False when what follows is of no interest any more. */
  readonly isReading: boolean;
  /** A frame. That of data is told before its bytes, without them. */
  frame(type: number, payload: Buffer): void;
  message(message: Message): void;
  /** Bytes of the stream. */
  bytes(bytes: Uint8Array): void;
}

/** Cuts what is read into frames, the messages between them, and bytes of the stream, which are passed on as they come. */
export class FrameReader {
  /** The beginning of a frame or message. */
  #part: Buffer = none;
  /** Bytes of a frame of data that are still to come. */
  #left = 0;

  constructor(readonly handler: FrameHandler) {}

  /** Throws ProtocolError. */
  read(chunk: Uint8Array): void {
    const { handler } = this;
    const bytes = this.#part.byteLength === 0 ? asBuffer(chunk) : Buffer.concat([this.#part, chunk]);
    this.#part = none;
    for (let at = 0; at < bytes.byteLength && handler.isReading; ) {
      if (handler.isRaw) {
        handler.bytes(at === 0 ? bytes : bytes.subarray(at));
        return;
      }
      const next = this.#left > 0 ? this.#data(bytes, at) : this.#unit(bytes, at);
      if (next === undefined) {
        // Copied, so that a few bytes do not keep a whole read.
        this.#part = Buffer.from(bytes.subarray(at));
        return;
      }
      at = next;
    }
  }

  #data(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.byteLength, at + this.#left);
    this.#left -= end - at;
    this.handler.bytes(bytes.subarray(at, end));
    return end;
  }

  /** One frame or message; undefined until it is complete. */
  #unit(bytes: Buffer, at: number): number | undefined {
    const type = bytes[at] ?? 0;
    if (type >= firstOfMessage) return this.#message(bytes, at);
    if (bytes.byteLength < at + headerSize) return undefined;
    const size = sizeAt(bytes, at);
    const start = at + headerSize;
    if (type === frameType.data) {
      this.handler.frame(type, none);
      this.#left = size;
      return start;
    }
    if (size > maxControl) throw new ProtocolError(`a frame is longer than ${maxControl} bytes`);
    if (bytes.byteLength < start + size) return undefined;
    this.handler.frame(type, bytes.subarray(start, start + size));
    return start + size;
  }

  #message(bytes: Buffer, at: number): number | undefined {
    const end = bytes.indexOf(0, at);
    if ((end < 0 ? bytes.byteLength : end) - at > maxMessage) {
      throw new ProtocolError(`a message is longer than ${maxMessage} bytes`);
    }
    if (end < 0) return undefined;
    this.handler.message(decode(bytes.subarray(at, end)));
    return end + 1;
  }
}
