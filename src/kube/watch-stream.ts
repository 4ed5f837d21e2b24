import { GoneError, type StatusBody, UnreachableError } from "./errors.ts";
import type { KubeObject } from "./kube.ts";

/** A line of a watch that is about an object; that of a bookmark has a resource version and no name. */
export interface ObjectEvent {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  object: KubeObject;
}

/** One line of a watch. */
export type WatchEvent = ObjectEvent | { type: "ERROR"; object: StatusBody };

/** Longest line that is taken: more than any object that etcd stores. */
const maxLineBytes = 8 * 1024 * 1024;
const newline = 10;

/** Cuts a stream of bytes into lines, whatever its chunks are. Throws UnreachableError when a line is longer than 8 MiB. */
export function createLineSplitter(limit = maxLineBytes): (chunk: Uint8Array) => string[] {
  let parts: Uint8Array[] = [];
  let length = 0;
  return (chunk) => {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      parts.push(chunk.subarray(start, end));
      lines.push(Buffer.concat(parts).toString("utf8"));
      parts = [];
      length = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      // A copy: the rest of the chunk may be reused by the reader.
      parts.push(chunk.slice(start));
      length += chunk.length - start;
    }
    if (length > limit) {
      throw new UnreachableError(`a line of the watch is longer than ${limit} bytes`);
    }
    return lines.filter((line) => line !== "");
  };
}

export function parseWatchEvent(line: string): WatchEvent {
  try {
    return JSON.parse(line) as WatchEvent;
  } catch (cause) {
    throw new UnreachableError("a line of the watch is not JSON", { cause });
  }
}

/** The error that an ERROR event stands for: 410 needs a new list, anything else a new watch. */
export function watchError(body: StatusBody, what: string): Error {
  const code = body.code ?? 500;
  return code === 410 || body.reason === "Expired" || body.reason === "Gone"
    ? new GoneError(code, body, what)
    : new UnreachableError(`${what}: ${code} ${body.message ?? body.reason ?? ""}`);
}
