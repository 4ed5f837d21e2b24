/**
 * The program with a defect: SIGUSR2 makes it throw in the kind of callback that the variable DEFECT names. The shipped executable has no
 * such way, so the tests compile this one.
 */
import { Wire } from "../../src/agent/net/wire.ts";

const fail = () => {
  throw new TypeError("a defect in a test");
};

const causes: Record<string, () => void> = {
  timer: () => setTimeout(fail, 1),
  immediate: () => setImmediate(fail),
  microtask: () => queueMicrotask(fail),
  promise: () => void Promise.resolve().then(fail),
  "nothing thrown": () => void Promise.reject(undefined),
  // The next thing that any connection reports meets the defect.
  "socket callback": () => {
    const prototype = Wire.prototype as unknown as { onData: () => void; onEnd: () => void };
    prototype.onData = fail;
    prototype.onEnd = fail;
  },
};

process.on("SIGUSR2", () => causes[process.env.DEFECT ?? ""]?.());

await import("../../src/main.ts");
