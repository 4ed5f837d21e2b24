import { expect, test } from "bun:test";
import { errorCode, errorText, ListenError, listenFailure } from "../../src/errors.ts";

function refused(): Error {
  return Object.assign(new Error("connect failed"), { code: "ECONNREFUSED" });
}

test("an error and its causes become one line", () => {
  const error = new Error("cannot reach the backend\n  at once", { cause: new Error("dial", { cause: refused() }) });
  expect(errorText(error)).toBe("cannot reach the backend at once: dial: connect failed");
});

test("a cause that the error repeats already is said once", () => {
  expect(errorText(new Error("dial: connect failed", { cause: refused() }))).toBe("dial: connect failed");
});

test("what is thrown without being an error has a text too", () => {
  expect([errorText("just text"), errorText(undefined), errorText(new TypeError())]).toEqual([
    "just text",
    "",
    "TypeError",
  ]);
});

test("a loop of causes ends", () => {
  const error = new Error("round");
  error.cause = error;
  expect([errorText(error), errorCode(error)]).toEqual(["round", undefined]);
});

test("the system's code is found in a cause", () => {
  expect(errorCode(new Error("dial", { cause: refused() }))).toBe("ECONNREFUSED");
});

test.each([
  ["EADDRINUSE", "cannot listen on [::]:1 (listen): the address is in use (EADDRINUSE)"],
  ["EACCES", "cannot listen on [::]:1 (listen): permission is missing (ports below 1024 need it) (EACCES)"],
  ["EAFNOSUPPORT", "cannot listen on [::]:1 (listen): IPv6 is not available here (EAFNOSUPPORT)"],
  ["EMFILE", "cannot listen on [::]:1 (listen): no more"],
])("a listen refused with %s becomes one clear line", (code, line) => {
  const failure = listenFailure("[::]:1 (listen)", Object.assign(new Error("no more"), { code }));
  expect(failure).toBeInstanceOf(ListenError);
  expect([errorText(failure), failure.exitCode]).toEqual([line, 2]);
});
