import { expect, test } from "bun:test";
import { Fingerprints, fingerprintOf } from "../../src/fingerprint.ts";

test("a fingerprint is the same everywhere, and four digits of it are all that anybody learns", async () => {
  // Both ends, of whatever version, have to find the same.
  expect(await fingerprintOf("correct horse battery staple")).toBe("cc40");
  const some = await Promise.all(["a", "a ", "A", "aa"].map((secret) => fingerprintOf(secret)));
  expect(new Set(some).size).toBe(4);
  expect(some.join(" ")).toMatch(/^([0-9a-f]{4} ?){4}$/);
});

test("what was worked out is remembered, the latest ones", async () => {
  const fingerprints = new Fingerprints(2);
  const first = fingerprints.of("one");
  expect(fingerprints.of("one")).toBe(first);
  await fingerprints.of("two");
  await fingerprints.of("three");
  expect(fingerprints.of("one")).not.toBe(first);
  expect(await fingerprints.of("one")).toBe(await first);
});

test("who asks while others are worked out does not wait for them, and gets it later", async () => {
  const fingerprints = new Fingerprints(10);
  const busy = fingerprints.of("one");
  expect(await fingerprints.unlessBusy("two")).toBeUndefined();
  await busy;
  expect(await fingerprints.unlessBusy("one")).toBe(await busy);
  expect(await fingerprints.unlessBusy("two")).toBe(await fingerprintOf("two"));
});
