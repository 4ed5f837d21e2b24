import { expect, test } from "bun:test";
import { createLog, type LogOptions } from "../../src/log.ts";

/** A log and the lines that it wrote. */
function recordedLog(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const log = createLog({
    level: "info",
    format: "pretty",
    colors: false,
    write: (line) => lines.push(line),
    ...options,
  });
  return { log, lines, withoutTimes: () => lines.map((line) => line.replace(/^\S+Z /, "")) };
}

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

test("a pretty line has time, level, message and fields", () => {
  const { log, lines, withoutTimes } = recordedLog();
  log.info("stream closed", {
    peer: "[::1]:7",
    bytes: 12,
    clean: true,
    reason: undefined,
    note: "two words",
    empty: "",
  });
  expect(withoutTimes()).toEqual(['info  stream closed peer=[::1]:7 bytes=12 clean=true note="two words" empty=""']);
  expect(lines[0]?.split(" ")[0]).toMatch(time);
});

test("a JSON line is one object that keeps the types of its fields", () => {
  const { log, lines } = recordedLog({ format: "json" });
  log.warn("stream closed", { peer: "[::1]:7", bytes: 12, clean: false, reason: undefined });
  const { time: at, ...rest } = JSON.parse(lines[0] ?? "");
  expect(at).toMatch(time);
  expect(rest).toEqual({ level: "warn", message: "stream closed", peer: "[::1]:7", bytes: 12, clean: false });
  expect(Object.keys(JSON.parse(lines[0] ?? ""))).toEqual(["time", "level", "message", "peer", "bytes", "clean"]);
});

test("a field cannot replace time, level or message", () => {
  const { log, lines } = recordedLog({ format: "json" });
  log.error("real", { message: "false", level: "debug", time: "never" });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    message: "real",
    level: "error",
    time: expect.stringMatching(time),
  });
});

test.each([
  ["debug", ["debug", "info ", "warn ", "error"]],
  ["info", ["info ", "warn ", "error"]],
  ["warn", ["warn ", "error"]],
  ["error", ["error"]],
] as const)("at level %s only what is as important is written", (level, expected) => {
  const { log, withoutTimes } = recordedLog({ level });
  for (const at of ["debug", "info", "warn", "error"] as const) {
    log[at]("message");
  }
  expect(withoutTimes()).toEqual(expected.map((word) => `${word} message`));
});

test("a child adds its fields to those of its parent", () => {
  const { log, withoutTimes } = recordedLog();
  const session = log.child({ role: "proxy" }).child({ session: 3 });
  session.info("stream opened", { stream: 8 });
  log.info("listening");
  expect(withoutTimes()).toEqual(["info  stream opened role=proxy session=3 stream=8", "info  listening"]);
});

test("equal lines are all written, however quickly they follow each other", () => {
  const { log, lines } = recordedLog();
  for (let count = 0; count < 50; count += 1) {
    log.info("accept failed", { reason: "EMFILE" });
  }
  expect(lines.length).toBe(50);
});

test("text from a peer cannot forge a second line or colours", () => {
  const { log, withoutTimes } = recordedLog();
  log.info("refused\nfake line", { reason: "bad\nname=\u001b[31mred" });
  expect(withoutTimes()).toEqual(['info  refused fake line reason="bad\\nname=\\u001b[31mred"']);
});

test("a message that looks like an object of the logging library stays a message", () => {
  const { log, lines } = recordedLog({ format: "json" });
  log.info("%s %d", { a: 1 });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ message: "%s %d", a: 1 });
});
