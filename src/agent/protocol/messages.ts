/**
 * Messages between proxy and target. The base is the protocol of bore 0.6 (`src/shared.rs` of ekzhang/bore): JSON values, each followed by
 * a NUL byte; the messages after `Error` are netaminity's extension and are sent only to a peer that offered it. docs/INTERNAL.md has the whole story.
 */

import { isIP } from "node:net";
import { parseHostPort } from "../../endpoint.ts";

/** Bytes of one message without its NUL, as in bore (`MAX_FRAME_LENGTH`). */
export const maxMessage = 256;

/** The peer does not keep to the protocol; the connection is of no use. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

/** Message name -> what it carries. Binary values are lower-case hexadecimal, ids of bore are UUIDs in text form. */
export interface Messages {
  /** Proxy, first on every connection: a UUID whose 16 bytes are to be signed. */
  Challenge: string;
  /** Target: HMAC over the challenge. */
  Authenticate: string;
  /** Target: the consumer port it would like (0 = any). Proxy: the one it got. */
  Hello: number;
  /** Proxy, control connection: still here. */
  Heartbeat: null;
  /** Proxy, control connection: a consumer waits under this id. */
  Connection: string;
  /** Target, new connection: this is the one for that consumer; bytes of the stream follow. */
  Accept: string;
  /** Proxy: why the connection ends. */
  Error: string;

  /**
   * Target: from now on inside TLS, if you will. Proxy: it begins behind this. Neither sends anything in between, nor the target anything between its
   * word and the answer. What was plain before, a challenge above all, counts for nothing afterwards.
   */
  StartTls: null;
  /** Target: opens a session. `target` names the running process. */
  Attach: { target: string; nonce: string; proof: string };
  /** Proxy: the session is open, and proof that the proxy knows the secret too. `address` is where this very proxy was reached, `host:port`. */
  Attached: { session: string; proof: string; address?: string };
  /** Doctor: is this proof of the secret good? Sent only to a proxy that offers it, and opens nothing. */
  Check: { nonce: string; proof: string };
  /** Proxy: it is, and proof that the proxy knows the secret too; the connection ends. */
  Checked: { proof: string };
  /** Either side: answer with `Pong` and the same number. */
  Ping: number;
  Pong: number;
  /** Proxy, control connection: this many consumers wait for a data connection. */
  Open: number;
  /** Target, control connection: so many idle data connections are more than it needs. */
  Shed: number;
  /** Either side, control connection: no new streams on this session; running ones go on. */
  Drain: null;
  /** Target, control connection: consumers are to be served by the proxy at this `host:port` from now on, which has a session too. */
  Moved: string;
  /** Proxy, new connection to that other proxy: serve this consumer, whose connection is `from` and `to`; its bytes follow the answer. */
  Serve: { from: string; to: string; nonce: string; proof: string };
  /** That other proxy: it does; bytes of the stream follow. */
  Serving: { proof: string };
  /** Target, new connection: a data connection of that session, the `number`-th; `frames` follow, sent only to a proxy that offers them. */
  Join: { session: string; number: number; proof: string; frames?: boolean };
  /**
   * Proxy, data connection: connect to the backend; bytes of the stream follow. `from` and `to` are the consumer's connection, `host:port`;
   * the proof shows that it is the proxy of the session who uses this connection.
   */
  Start: { from: string; to: string; proof: string };
  /** Target, data connection: the backend is connected; bytes of the stream follow. */
  Started: null;
  /** Target, data connection: the backend is not connected; `result` is the word for metrics, `reason` the text for people. */
  Refused: { result: string; reason: string };
}

export type MessageName = keyof Messages;
export type Message = { [Name in MessageName]: { name: Name; value: Messages[Name] } }[MessageName];

type ContentCheck<Name extends MessageName> = (value: unknown) => value is Messages[Name];

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const isString = (value: unknown): value is string => typeof value === "string";
const isUuid = (value: unknown): value is string => isString(value) && uuid.test(value);
const isPort = (value: unknown): value is number => isCount(value) && value <= 65_535;
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isNothing = (value: unknown): value is null => value === null;
const isHex = (bytes: number) => {
  const pattern = new RegExp(`^[0-9a-f]{${bytes * 2}}$`);
  return (value: unknown): value is string => isString(value) && pattern.test(value);
};
/** Numeric, so that nothing has to be resolved. */
const isAddress = (value: unknown): value is string => isString(value) && isIP(parseHostPort(value)?.host ?? "") !== 0;
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const isId = isHex(16);
const isTag = isHex(32);

const checks: { [Name in MessageName]: ContentCheck<Name> } = {
  Challenge: isUuid,
  Authenticate: isString,
  Hello: isPort,
  Heartbeat: isNothing,
  Connection: isUuid,
  Accept: isUuid,
  Error: isString,
  StartTls: isNothing,
  Attach: (value): value is Messages["Attach"] =>
    isRecord(value) && isId(value.target) && isId(value.nonce) && isTag(value.proof),
  Attached: (value): value is Messages["Attached"] =>
    isRecord(value) &&
    isId(value.session) &&
    isTag(value.proof) &&
    (value.address === undefined || isString(value.address)),
  Check: (value): value is Messages["Check"] => isRecord(value) && isId(value.nonce) && isTag(value.proof),
  Checked: (value): value is Messages["Checked"] => isRecord(value) && isTag(value.proof),
  Ping: isCount,
  Pong: isCount,
  Open: isCount,
  Shed: isCount,
  Drain: isNothing,
  Moved: isAddress,
  Serve: (value): value is Messages["Serve"] =>
    isRecord(value) && isString(value.from) && isString(value.to) && isId(value.nonce) && isTag(value.proof),
  Serving: (value): value is Messages["Serving"] => isRecord(value) && isTag(value.proof),
  Join: (value): value is Messages["Join"] =>
    isRecord(value) &&
    isId(value.session) &&
    isCount(value.number) &&
    isTag(value.proof) &&
    (value.frames === undefined || typeof value.frames === "boolean"),
  Start: (value): value is Messages["Start"] =>
    isRecord(value) && isString(value.from) && isString(value.to) && isTag(value.proof),
  Started: isNothing,
  Refused: (value): value is Messages["Refused"] => isRecord(value) && isString(value.result) && isString(value.reason),
};

/** One frame with its NUL. Throws RangeError when it would be longer than a peer accepts. */
export function encode<Name extends MessageName>(name: Name, value: Messages[Name]): Uint8Array {
  // serde writes a variant without content as a bare string.
  const bytes = Buffer.from(`${JSON.stringify(value === null ? name : { [name]: value })}\0`);
  if (bytes.byteLength > maxMessage + 1) throw new RangeError(`${name} does not fit into a frame`);
  return bytes;
}

/** Reads one frame without its NUL. Throws ProtocolError, which never quotes what came in. */
export function decode(frame: Uint8Array): Message {
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString());
  } catch (cause) {
    throw new ProtocolError("a frame is not JSON", { cause });
  }
  const [name, value] = isString(json) ? [json, null] : isRecord(json) ? (Object.entries(json)[0] ?? []) : [];
  if (name === undefined || !Object.hasOwn(checks, name)) throw new ProtocolError("a frame is no known message");
  const message = { name, value } as Message;
  if (!checks[message.name](value)) throw new ProtocolError(`a ${name} message has a wrong content`);
  return message;
}

/** Cuts a byte stream into messages; what follows the last one asked for stays as it is (it may be the stream's first bytes). */
export class MessageReader {
  #pending: Uint8Array = new Uint8Array(0);

  /** Bytes that are not read yet. */
  get pending(): number {
    return this.#pending.byteLength;
  }

  push(chunk: Uint8Array): void {
    this.#pending = this.#pending.byteLength === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
  }

  /** The next whole message, or undefined until more bytes come. Throws ProtocolError. */
  next(): Message | undefined {
    const end = this.#pending.indexOf(0);
    if (end > maxMessage || (end < 0 && this.#pending.byteLength > maxMessage)) {
      throw new ProtocolError(`a frame is longer than ${maxMessage} bytes`);
    }
    if (end < 0) return undefined;
    const frame = this.#pending.subarray(0, end);
    this.#pending = this.#pending.subarray(end + 1);
    return decode(frame);
  }

  /** Takes the bytes that came after the last message. */
  rest(): Uint8Array {
    const bytes = this.#pending;
    this.#pending = new Uint8Array(0);
    return bytes;
  }
}
