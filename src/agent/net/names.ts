import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { errorCode } from "../../errors.ts";
import { DialError } from "./dial-error.ts";

/** Milliseconds after which a look-up is late: whoever asks is then content with the last good addresses. */
const patience = 500;
/** Milliseconds for which addresses may serve while no resolver answers (RFC 8767 calls this serving stale data). */
const maxAge = 60 * 60 * 1000;
/** Names that are remembered; the settings of a role name three at most. */
const maxNames = 32;

interface Address {
  address: string;
  family: number;
}

/** Asks the system for the addresses of a name. Rejects with `code` ENOTFOUND when there is no such name, EAI_AGAIN when no server could say. */
export type Ask = (host: string) => Promise<Address[]>;

interface Name {
  /** The one look-up that is under way, and when it began. */
  asked: { answer: Promise<string[]>; since: number } | undefined;
  /** The last good addresses, and when they came. */
  good: { addresses: string[]; since: number } | undefined;
}

/**
 * Addresses of names. The C library gives a silent server five seconds before it asks the next one, holds a thread all that time, and forgets
 * at once which server was silent. So everybody who asks for a name shares one look-up, an answer that is late for one dial serves the next,
 * and while nobody answers the last good addresses go on to serve.
 */
export class Names {
  #ask: Ask;
  #names = new Map<string, Name>();

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /** Numeric addresses, IPv6 and IPv4 in turn. Rejects with DialError when the name has none, or none is known after `timeout` milliseconds. */
  async resolve(host: string, timeout: number): Promise<string[]> {
    if (isIP(host) !== 0) return [host];
    const name = this.#name(host);
    name.asked ??= this.#lookUp(host, name);
    const good = name.good !== undefined && performance.now() - name.good.since < maxAge ? name.good : undefined;
    const late = name.asked.since + patience - performance.now();
    try {
      const found = await within(
        good === undefined ? timeout : Math.max(0, Math.min(late, timeout)),
        name.asked.answer,
      );
      const addresses = found ?? good?.addresses;
      if (addresses !== undefined) return addresses;
    } catch (cause) {
      if (good !== undefined && errorCode(cause) !== "ENOTFOUND") return good.addresses;
      const why = errorCode(cause) === "EAI_AGAIN" ? " (no name server could say)" : "";
      throw new DialError("unresolved", `${host} does not resolve${why}`, { cause });
    }
    throw new DialError("unresolved", `${host} was not resolved within ${Math.round(timeout)} ms`);
  }

  #name(host: string): Name {
    const name: Name = this.#names.get(host) ?? { asked: undefined, good: undefined };
    this.#names.delete(host);
    this.#names.set(host, name);
    const [longestUnused] = this.#names.keys();
    if (this.#names.size > maxNames && longestUnused !== undefined) this.#names.delete(longestUnused);
    return name;
  }

  #lookUp(host: string, name: Name): NonNullable<Name["asked"]> {
    const answer = this.#ask(host).then(inTurn);
    answer
      .then(
        (addresses) => {
          name.good = { addresses, since: performance.now() };
        },
        (cause) => {
          if (errorCode(cause) === "ENOTFOUND") name.good = undefined;
        },
      )
      .finally(() => {
        name.asked = undefined;
      });
    return { answer, since: performance.now() };
  }
}

/** One family may lead nowhere: the second attempt goes to the other one. */
function inTurn(found: readonly Address[]): string[] {
  const [first, second] = [6, 4].map((family) => found.filter((one) => one.family === family));
  return Array.from({ length: found.length }, (_, at) => [first?.[at], second?.[at]])
    .flat()
    .flatMap((one) => (one === undefined ? [] : [one.address]));
}

/** All names of the process. */
const names = new Names((host) => lookup(host, { all: true, order: "verbatim" }));

/** See {@link Names.resolve}. */
export function resolve(host: string, timeout: number): Promise<string[]> {
  return names.resolve(host, timeout);
}

/** The promise's value, or undefined when it takes longer than `timeout` milliseconds. */
async function within<Value>(timeout: number, promise: Promise<Value>): Promise<Value | undefined> {
  let timer: Timer | undefined;
  const late = new Promise<undefined>((done) => {
    timer = setTimeout(done, timeout, undefined);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
