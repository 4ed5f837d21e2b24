import { expect, test } from "bun:test";
import { DialError } from "../../../src/agent/net/dial-error.ts";
import { type Ask, Names } from "../../../src/agent/net/names.ts";

/** A resolver whose answers the test gives, in the order in which it was asked. */
function makeResolver() {
  const asked: { host: string; answer(...addresses: string[]): void; fail(code: string): void }[] = [];
  const ask: Ask = (host) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ address: string; family: number }[]>();
    asked.push({
      host,
      answer: (...addresses) =>
        resolve(addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))),
      fail: (code) => reject(Object.assign(new Error(code), { code })),
    });
    return promise;
  };
  return { asked, names: new Names(ask) };
}

/** The error that `attempt` ends with. */
async function failureOf(attempt: Promise<unknown>): Promise<DialError> {
  const outcome = await attempt.catch((cause: unknown) => cause);
  if (!(outcome instanceof DialError)) throw new Error(`no DialError: ${String(outcome)}`);
  return outcome;
}

test("all who ask for a name share one look-up, and another name has its own", async () => {
  const { asked, names } = makeResolver();
  const found = [names.resolve("a.test", 5000), names.resolve("a.test", 5000), names.resolve("b.test", 5000)];
  expect(asked.map((one) => one.host)).toEqual(["a.test", "b.test"]);
  asked[0]?.answer("192.0.2.1", "192.0.2.2", "2001:db8::1");
  asked[1]?.answer("192.0.2.3");
  const turns = ["2001:db8::1", "192.0.2.1", "192.0.2.2"];
  expect(await Promise.all(found)).toEqual([turns, turns, ["192.0.2.3"]]);
});

test("an answer that is too late for one serves the next, while the look-up after it is silent", async () => {
  const { asked, names } = makeResolver();
  expect((await failureOf(names.resolve("a.test", 20))).message).toBe("a.test was not resolved within 20 ms");
  // Still the same look-up: a second one would take a second thread.
  expect((await failureOf(names.resolve("a.test", 20))).result).toBe("unresolved");
  expect(asked.length).toBe(1);
  asked[0]?.answer("192.0.2.1");
  await Promise.resolve();
  await Bun.sleep(0);
  expect(await names.resolve("a.test", 5000)).toEqual(["192.0.2.1"]);
  expect(asked.length).toBe(2);
});

test("a fresh answer replaces the last one", async () => {
  const { asked, names } = makeResolver();
  const first = names.resolve("a.test", 5000);
  asked[0]?.answer("192.0.2.1");
  await first;
  const second = names.resolve("a.test", 5000);
  asked[1]?.answer("192.0.2.2");
  expect(await second).toEqual(["192.0.2.2"]);
});

test.each([
  ["EAI_AGAIN", ["192.0.2.1"]],
  ["ENOTFOUND", undefined],
])("after %s the last good addresses are %p", async (code, addresses) => {
  const { asked, names } = makeResolver();
  const first = names.resolve("a.test", 5000);
  asked[0]?.answer("192.0.2.1");
  await first;
  const second = names.resolve("a.test", 5000);
  asked[1]?.fail(code);
  if (addresses !== undefined) expect(await second).toEqual(addresses);
  else expect((await failureOf(second)).message).toBe("a.test does not resolve");
});

test("a number is an address already", async () => {
  const { asked, names } = makeResolver();
  expect(await names.resolve("::1", 1)).toEqual(["::1"]);
  expect(asked).toEqual([]);
});
