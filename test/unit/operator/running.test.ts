import { expect, test } from "bun:test";
import { createRunning } from "../../../src/operator/running.ts";

/** Work that ends when it is told to, a moment later. */
const untilAborted = (log: string[], name: string) => async (signal: AbortSignal) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (signal.aborted) resolve();
  await promise;
  log.push(`${name} ends`);
  throw new Error(`${name} was ended`);
};

test("what runs in a namespace that is left ends before leave does, and nothing else", async () => {
  const [running, outer, log] = [createRunning(), new AbortController(), [] as string[]];
  const left = running.run("a", outer.signal, untilAborted(log, "a"));
  const other = running.run("b", outer.signal, untilAborted(log, "b"));
  await running.leave((namespace) => namespace === "a");
  log.push("left");
  expect(log).toEqual(["a ends", "left"]);
  expect(await left).toBeUndefined();
  outer.abort();
  expect(other).rejects.toThrow("b was ended");
});

test("its own errors and answers come through", async () => {
  const [running, { signal }] = [createRunning(), new AbortController()];
  expect(await running.run("a", signal, async () => 7)).toBe(7);
  expect(running.run("a", signal, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
});
