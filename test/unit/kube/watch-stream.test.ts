import { expect, test } from "bun:test";
import { GoneError, UnreachableError } from "../../../src/kube/errors.ts";
import { createLineSplitter, parseWatchEvent, watchError } from "../../../src/kube/watch-stream.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("lines are the same however the bytes are cut, also inside a character", () => {
  const text = '{"type":"ADDED","object":{"name":"größe"}}\n{"type":"BOOKMARK"}\n\nrest\n';
  const lines = ['{"type":"ADDED","object":{"name":"größe"}}', '{"type":"BOOKMARK"}', "rest"];
  const all = bytes(text);
  for (let size = 1; size <= all.length; size += 1) {
    const split = createLineSplitter();
    const got: string[] = [];
    for (let at = 0; at < all.length; at += size) {
      got.push(...split(all.slice(at, at + size)));
    }
    expect(got).toEqual(lines);
  }
});

test("what is not ended by a newline is held back, whoever reuses the buffer meanwhile", () => {
  const split = createLineSplitter();
  const chunk = bytes("one\ntw");
  expect(split(chunk)).toEqual(["one"]);
  chunk.fill(120);
  expect(split(bytes("o\n"))).toEqual(["two"]);
});

test("a line without end is refused instead of filling the memory", () => {
  const split = createLineSplitter(10);
  expect(split(bytes("12345678"))).toEqual([]);
  expect(() => split(bytes("9012345"))).toThrow(UnreachableError);
});

test("a line that is not JSON breaks the watch off", () => {
  expect(() => parseWatchEvent("<html>")).toThrow(UnreachableError);
});

test("only 410 asks for a new list", () => {
  expect(watchError({ code: 410, message: "too old resource version" }, "watch pods")).toBeInstanceOf(GoneError);
  expect(watchError({ reason: "Expired" }, "watch pods")).toBeInstanceOf(GoneError);
  expect(watchError({ code: 500, message: "etcd is sad" }, "watch pods")).toEqual(
    new UnreachableError("watch pods: 500 etcd is sad"),
  );
});
